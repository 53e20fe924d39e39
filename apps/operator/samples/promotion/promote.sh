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

# check JSON PROGRAM [jq's arguments]: refuses with what the jq program says, if it says
# anything.
check() {
  json=$1 program=$2
  shift 2
  reason=$(printf '%s' "$json" | jq --raw-output "$@" "$program")
  [ -z "$reason" ] || refuse "$reason"
}

# words JSON ARRAY: the values of a jq array, IDs all of them, between blanks.
words() { printf '%s' "$1" | jq --raw-output "$2 | map(. // \"-\") | join(\" \")"; }

take_note() {
  # A note that is there already was taken before the test began: it stands.
  kubectl get configmap "$note" --output=name >/dev/null 2>&1 && return
  template=$(coder GET "/organizations/${TEMPLATE%%.*}/templates/${TEMPLATE#*.}")
  set -- $(words "$template" '[.id, .active_version_id]')
  kubectl create configmap "$note" "--from-literal=templateID=$1" "--from-literal=activeVersionID=$2"
}

promote() {
  test=$(kubectl get codertemplatetest "$TEST" --output=json)
  check "$test" '
    if .metadata.deletionTimestamp != null then "the test is being deleted"
    elif .status.observedGeneration != .metadata.generation then "the result is not about this test object"
    elif .status.phase != "Succeeded" then "the test is \(.status.phase), not Succeeded"
    elif (.status.conditions | any(.type == "Ready" and .status == "True") | not) then "the test is not Ready"
    elif .spec.template != $template then "the test is not of \($template)"
    elif (.status | [.templateID, .templateVersionID, .deploymentID] | all) | not then "the test names no version"
    else empty end' --arg template "$TEMPLATE"
  set -- $(words "$test" '.status | [.templateID, .templateVersionID, .deploymentID]')
  template_id=$1 version_id=$2 deployment_id=$3

  noted=$(kubectl get configmap "$note" --output=json)
  set -- $(words "$noted" '.data | [.templateID, .activeVersionID]')
  [ "$1" = "$template_id" ] || refuse 'the name of the template meant another one before the test'
  was_active=$2

  build=$(coder GET /buildinfo)
  set -- $(words "$build" '[.deployment_id]')
  [ "$1" = "$deployment_id" ] || refuse 'this is not the Coder that the test ran on'
  version=$(coder GET "/templateversions/$version_id")
  check "$version" '
    if .template_id != $template then "the version is not of this template any more"
    elif .archived then "the version is archived"
    elif .job.status != "succeeded" then "the version is not imported"
    else empty end' --arg template "$template_id"

  active=$(active)
  case $active in
    "$version_id")
      printf 'version %s is active already\n' "$version_id"
      return
      ;;
    "$was_active") ;;
    *) refuse 'another version was made active since the test began' ;;
  esac
  coder PATCH "/templates/$template_id/versions" "{\"id\":\"$version_id\"}" >/dev/null
  active=$(active)
  [ "$active" = "$version_id" ] || refuse 'Coder did not keep it'
  printf 'version %s is active now\n' "$version_id"
}

# active is the version of the template that is active.
active() {
  template=$(coder GET "/templates/$template_id")
  words "$template" '[.active_version_id]'
}

case ${1:-} in
  note) take_note ;;
  promote) promote ;;
  *)
    printf 'usage: promote.sh note|promote\n' >&2
    exit 2
    ;;
esac
