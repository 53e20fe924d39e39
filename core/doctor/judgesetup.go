package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// notTold is why a check says nothing where the connection is no door to what it looks at.
const notTold = "this connection does not tell"

func judgeRights(_ *Question, seen *Seen) Finding {
	switch rights := &seen.Rights; {
	case !rights.Done:
		return skipped(notTold)
	case rights.Failure != nil:
		return skipped("cannot be read: " + rights.Failure.Error())
	case len(rights.Value.Denied) > 0:
		return failed(core.ReasonCreateRejected,
			"the token's user may not "+strings.Join(rights.Value.Denied, ", ")+" workspaces of the owner",
			"use the owner's own token, or one of a site owner")
	default:
		return ok("the token's user may create, read and delete the owner's workspaces")
	}
}

const fixProvisioners = "start a provisioner daemon with these tags, or push the version with others"

func judgeProvisioners(_ *Question, seen *Seen) Finding {
	job := &seen.VersionJob
	switch {
	case !job.Done:
		return skipped(notTold)
	case job.Failure != nil:
		return problem(lifecycle.FailureProblem(job.Failure))
	}
	tags := showTags(buildTags(job.Value.Tags, seen.Owner.Value.ID))
	switch {
	case job.Value.Matched == 0:
		return failed(core.ReasonNoMatchingProvisioner, "none takes jobs with the tags "+tags+": the version's import waits for one", fixProvisioners)
	case job.Value.Available == 0:
		return failed(core.ReasonVersionImporting, "those that take jobs with the tags "+tags+" are offline: the version's import waits for one", fixProvisioners)
	}
	switch listed := &seen.Provisioners; {
	case listed.Failure != nil && (listed.Failure.Class == core.FailureNotFound || listed.Failure.Class == core.FailureForbidden):
		return skipped("not readable by this user; builds of the version ask for the tags " + tags)
	case listed.Failure != nil:
		return problem(lifecycle.FailureProblem(listed.Failure))
	default:
		return judgeDaemons(listed.Value, tags)
	}
}

// judgeDaemons judges the daemons that take the version's builds.
func judgeDaemons(daemons []core.Provisioner, tags string) Finding {
	count := map[string]int{}
	for _, daemon := range daemons {
		count[daemon.Status]++
	}
	all := len(daemons)
	switch {
	case all == 0:
		return failed(core.ReasonNoMatchingProvisioner, "none takes builds with the tags "+tags, fixProvisioners)
	case count[core.ProvisionerOffline] == all:
		return failed(core.ReasonWaitingForBuild, fmt.Sprintf("all that take builds with the tags %s are offline (%d)", tags, all), fixProvisioners)
	case count[core.ProvisionerIdle] == 0:
		return warning(fmt.Sprintf("all that take builds with the tags %s are busy (%d): a build waits for its turn", tags, all-count[core.ProvisionerOffline]),
			"start another one, or wait")
	default:
		return ok(fmt.Sprintf("%d of %d that take builds with the tags %s are idle", count[core.ProvisionerIdle], all, tags))
	}
}

// showTags leaves out what is empty.
func showTags(tags map[string]string) string {
	var shown []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if tags[key] != "" {
			shown = append(shown, key+"="+tags[key])
		}
	}
	return strings.Join(shown, " ")
}

func judgeQuota(_ *Question, seen *Seen) Finding {
	switch quota := &seen.Quota; {
	case !quota.Done:
		return skipped(notTold)
	case quota.Failure != nil && quota.Failure.Class == core.FailureNotFound:
		return ok("this Coder has no quotas")
	case quota.Failure != nil:
		return skipped("cannot be read: " + quota.Failure.Error())
	case quota.Value.Budget < 0:
		return ok("has no bound")
	case quota.Value.Consumed >= quota.Value.Budget:
		return warning(fmt.Sprintf("the owner has consumed %d of %d: Coder refuses a build that costs anything", quota.Value.Consumed, quota.Value.Budget),
			"delete workspaces of the owner, or give a group of the owner a larger allowance")
	default:
		return ok(fmt.Sprintf("the owner has consumed %d of %d", quota.Value.Consumed, quota.Value.Budget))
	}
}
