package lifecycle

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

func TestTTL(t *testing.T) {
	// Completed 30 s after noon; its workspace gone 40 s after noon.
	base := func() Input {
		in := failed()
		workspaceIs(core.ConditionTrue, core.ReasonDeleted)(&in)
		in.Record.Held = false
		return in
	}
	ttl := func(seconds int) edit {
		return func(in *Input) { in.Record.Spec.TTLSecondsAfterFinished = &seconds }
	}
	const final = "Failed BuildFailed Inconclusive "
	is := workspaceIs
	decide(t, base, []row{
		{why: "no TTL: the record stays", want: final + "True/Deleted workspace done"},
		{why: "from the later of both moments", given: []edit{ttl(60), now(99 * time.Second)}, want: final + "True/Deleted workspace after 1s"},
		{why: "then it deletes itself", given: []edit{ttl(60), now(100 * time.Second)}, want: final + "True/Deleted workspace expire"},
		{
			why: "the result can be the later one", want: final + "True/Deleted workspace after 1s",
			given: []edit{ttl(60), now(149 * time.Second), func(in *Input) { in.Record.Status.CompletionTime = after(90 * time.Second) }},
		},
		{why: "0 is at once", given: []edit{ttl(0), now(40 * time.Second)}, want: final + "True/Deleted workspace expire"},
		{
			why: "but watchers see the result first: the hold goes before the record", given: []edit{ttl(0), func(in *Input) { in.Record.Held = true }},
			want: final + "True/Deleted workspace release hold after 0s",
		},
		{why: "a workspace that somebody else deleted is gone too", given: []edit{ttl(0), now(40 * time.Second), is(core.ConditionTrue, core.ReasonDeletedExternally)}, want: final + "True/DeletedExternally workspace expire"},
		{why: "a control plane that is gone never expires", given: []edit{ttl(0), is(core.ConditionUnknown, core.ReasonControlPlaneGone), now(time.Hour)}, want: final + "Unknown/ControlPlaneGone workspace done"},
		{
			why: "nor does a retained one", want: final + "False/Retained workspace after 1m0s",
			given: []edit{ttl(0), is(core.ConditionFalse, core.ReasonRetained), policy("retain"), allowRetain, now(time.Hour), func(in *Input) { in.Record.Held = true }},
		},
		{
			why: "nor one of unknown owner", want: "Failed BuildFailed Inconclusive Unknown/OwnershipUnknown marker after 1m0s",
			given: []edit{func(in *Input) { *in = marked() }, conclude(core.ReasonBuildFailed, core.ConditionUnknown, core.ReasonOwnershipUnknown), ttl(0), seeName(foreign()), now(time.Hour)},
		},
		{why: "a record that is being deleted goes anyway", given: []edit{ttl(0), deletionRequested}, want: final + "True/Deleted workspace done"},
	})
}
