#!/bin/sh
# Makes a tested template version the active one. It runs twice: "note" before the test, to
# remember which version is active then, and "promote" after it.
#
#   TEST                 name of the CoderTemplateTest
#   TEMPLATE             its spec.template, ORGANIZATION.TEMPLATE
#   CODER_URL            where Coder is
#   CODER_SESSION_TOKEN  the token of a user who may edit the template
#
# It needs kubectl, curl and jq. It changes nothing but the active version, and that only
# if everything below is as it has to be.
set -eu
: "${TEST:?}" "${TEMPLATE:?}" "${CODER_URL:?}" "${CODER_SESSION_TOKEN:?}"
note=promotion-$TEST

refuse() {
  printf 'not promoted: %s\n' "$1" >&2
  exit 1
}

# coder METHOD PATH [BODY]: the token goes by standard input, for arguments are public.
coder() {
  printf 'header = "Coder-Session-Token: %s"\n' "$CODER_SESSION_TOKEN" |
    curl --config - --silent --show-error --fail --max-time 30 --request "$1" \
      --header 'Content-Type: application/json' ${3:+--data "$3"} "${CODER_URL%/}/api/v2$2"
}

# holds JSON CONDITION [jq's arguments]: whether a jq expression is true.
holds() {
  json=$1 condition=$2
  shift 2
  printf '%s' "$json" | jq --exit-status "$@" "$condition" >/dev/null
}

field() { printf '%s' "$1" | jq --raw-output "$2 // empty"; }

take_note() {
  # A note that is there already was taken before the test began: it stands.
  kubectl get configmap "$note" --output=name >/dev/null 2>&1 && return
  template=$(coder GET "/organizations/${TEMPLATE%%.*}/templates/${TEMPLATE#*.}")
  kubectl create configmap "$note" \
    "--from-literal=templateID=$(field "$template" .id)" \
    "--from-literal=activeVersionID=$(field "$template" .active_version_id)"
}

promote() {
  test=$(kubectl get codertemplatetest "$TEST" --output=json)
  holds "$test" '.metadata.deletionTimestamp == null' || refuse 'the test is being deleted'
  holds "$test" '.status.observedGeneration == .metadata.generation' || refuse 'the result is not about this test object'
  holds "$test" '.status.phase == "Succeeded"' || refuse "the test is $(field "$test" '.status.phase'), not Succeeded"
  holds "$test" '.status.conditions | any(.type == "Ready" and .status == "True")' || refuse 'the test is not Ready'
  holds "$test" '.spec.template == $t' --arg t "$TEMPLATE" || refuse "the test is not of $TEMPLATE"
  template_id=$(field "$test" .status.templateID)
  version_id=$(field "$test" .status.templateVersionID)
  [ -n "$template_id" ] && [ -n "$version_id" ] || refuse 'the test names no version'

  noted=$(kubectl get configmap "$note" --output=json)
  holds "$noted" '.data.templateID == $t' --arg t "$template_id" ||
    refuse 'the name of the template meant another one before the test'

  build=$(coder GET /buildinfo)
  holds "$build" '.deployment_id == $d' --arg d "$(field "$test" .status.deploymentID)" ||
    refuse 'this is not the Coder that the test ran on'
  version=$(coder GET "/templateversions/$version_id")
  holds "$version" '.template_id == $t' --arg t "$template_id" || refuse 'the version is not of this template any more'
  holds "$version" '.archived == false' || refuse 'the version is archived'
  holds "$version" '.job.status == "succeeded"' || refuse 'the version is not imported'
  template=$(coder GET "/templates/$template_id")
  if holds "$template" '.active_version_id == $v' --arg v "$version_id"; then
    printf 'version %s is active already\n' "$version_id"
    return
  fi
  holds "$template" '.active_version_id == $v' --arg v "$(field "$noted" .data.activeVersionID)" ||
    refuse 'another version was made active since the test began'

  coder PATCH "/templates/$template_id/versions" "{\"id\":\"$version_id\"}" >/dev/null
  template=$(coder GET "/templates/$template_id")
  holds "$template" '.active_version_id == $v' --arg v "$version_id" || refuse 'Coder did not keep it'
  printf 'version %s is active now\n' "$version_id"
}

case ${1:-} in
  note) take_note ;;
  promote) promote ;;
  *)
    printf 'usage: promote.sh note|promote\n' >&2
    exit 2
    ;;
esac
