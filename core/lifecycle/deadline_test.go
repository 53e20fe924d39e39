package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestDeadline(t *testing.T) {
	waiting := func(reason core.Reason, message string) edit {
		return func(in *Input) { in.Record.Status.Reason, in.Record.Status.Message = reason, message }
	}
	inputs := func(seconds int) edit { return func(in *Input) { in.Record.Spec.InputsTimeoutSeconds = seconds } }
	unseen := func(in *Input) { in.Seen = Seen{} }
	lastWait := func(want core.Reason) func(*testing.T, Decision) {
		return func(t *testing.T, d Decision) {
			if got := d.Record.Status.LastWaitReason; got != want {
				t.Errorf("last wait %s, want %s", got, want)
			}
		}
	}
	decide(t, connected, []row{
		{why: "the last moment before it is not it", given: []edit{now(900*time.Second - 1)}, want: "read owner"},
		{
			why: "at the deadline the run ends; the message names the last wait", given: []edit{now(900 * time.Second), waiting(core.ReasonOwnerNotEligible, "activate the owner")},
			want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s", says: "no result within 15m0s; the last wait was OwnerNotEligible: activate the owner",
			check: lastWait(core.ReasonOwnerNotEligible),
		},
		{
			why: "before a single read, where nothing was sent", given: []edit{unseen, now(time.Hour)},
			want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s",
		},
		{
			why: "inputs can have a deadline of their own", given: []edit{inputs(30), now(30 * time.Second)},
			want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s", says: "no result within 30s",
		},
		{why: "which is no later than the other", given: []edit{inputs(1000), now(900 * time.Second)}, want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s", says: "15m0s"},
		{why: "before it the inputs are waited for", given: []edit{inputs(30), now(30*time.Second - 1)}, want: "read owner"},
		{why: "a second is the shortest", given: []edit{inputs(1), now(time.Second)}, want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s", says: "no result within 1s"},
	})
	decide(t, marked, []row{
		{why: "once a create may have been sent, inputs are no longer waited for", given: []edit{inputs(30), now(10 * time.Minute)}, want: "read name"},
		{why: "a create without an answer stays unknown", given: []edit{now(900 * time.Second)}, want: "Failed DeadlineExceeded Inconclusive Unknown/CreateOutcomeUnknown marker after 0s"},
	})
	running := seeWorkspace(latest(build(core.TransitionStart, core.JobRunning)))
	decide(t, awaiting, []row{
		{
			why: "a workspace is to be deleted", given: []edit{now(900 * time.Second)}, check: lastWait(core.ReasonWaitingForBuild),
			want: "Failed DeadlineExceeded Inconclusive False/CleanupPending workspace after 0s",
		},
		{
			why: "a build that ran is the template's", want: "Failed DeadlineExceeded TemplateFailed False/CleanupPending workspace after 0s",
			given: []edit{now(900 * time.Second), func(in *Input) { in.Record.Status.StartBuildRan = true }},
		},
		{
			why: "so are agents that were awaited", want: "Failed DeadlineExceeded TemplateFailed False/CleanupPending workspace after 0s",
			given: []edit{now(900 * time.Second), waiting(core.ReasonWaitingForAgents, "agent x is connecting, created")},
		},
		{why: "a wait never sleeps past the deadline", given: []edit{now(898 * time.Second), running}, want: "Running WaitingForBuild workspace after 2s"},
		{why: "a deletion request comes first: no verdict", given: []edit{now(time.Hour), deletionRequested, running}, want: "Running WaitingForBuild False/CleanupPending workspace > cancel"},
	})
}

// The clock is read again after the Coder calls (4.10). That ends waits only: a verdict
// reached in the step stands.
func TestDeadlineDuringTheStep(t *testing.T) {
	during := func(base func() Input) func() Input {
		return func() Input {
			in := base()
			in.Began = after(899 * time.Second)
			now(901 * time.Second)(&in)
			return in
		}
	}
	sees := func(transition core.Transition, status core.JobStatus, agents ...core.Agent) edit {
		return seeWorkspace(latest(build(transition, status), agents...))
	}
	decide(t, during(resolved), []row{
		{
			why: "a wait ends; the message names it", given: []edit{func(in *Input) { in.Seen.Template = failing[core.Template](notFound) }},
			want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s", says: "the last wait was TemplateNotFound: ",
		},
		{why: "no create is announced", want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s"},
		{why: "not even at the deadline itself", given: []edit{now(900 * time.Second)}, want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s"},
		{
			why: "a verdict stands", given: []edit{func(in *Input) { in.Seen.Template.Value.Deprecated = true }},
			want: "Failed TemplateDeprecated TemplateFailed True/NotCreated after 0s",
		},
		{
			why: "a workspace of ours from a lost record is a fact, and adopted all the same", want: "read attempt ID",
			given: []edit{seeName(ours()), func(in *Input) { in.Seen.AttemptID = uuid.Nil }},
		},
		{why: "what is still to be read is read", given: []edit{func(in *Input) { in.Seen.Name = Result[core.NameLookup]{} }}, want: "read name"},
	})
	decide(t, during(marked), []row{
		{why: "a workspace that was found is adopted", given: []edit{seeName(ours())}, want: "Running WaitingForBuild workspace after 0s"},
	})
	decide(t, during(awaiting), []row{
		{why: "a build that failed failed", given: []edit{sees(core.TransitionStart, core.JobFailed)}, want: "Failed BuildFailed TemplateFailed False/CleanupPending workspace after 0s"},
		{why: "one that still runs took too long", given: []edit{sees(core.TransitionStart, core.JobRunning)}, want: "Failed DeadlineExceeded TemplateFailed False/CleanupPending workspace after 0s"},
		{
			why: "so did agents", want: "Failed DeadlineExceeded TemplateFailed False/CleanupPending workspace after 0s",
			given: []edit{sees(core.TransitionStart, core.JobSucceeded, agent(1, core.AgentConnecting, core.AgentCreated))}, says: "the last wait was WaitingForAgents",
		},
	})
	decide(t, during(ready), []row{
		{why: "a delete build that succeeded is a pass", given: []edit{sees(core.TransitionDelete, core.JobSucceeded)}, want: "Succeeded Succeeded Passed True/Deleted workspace after 0s"},
		{why: "one that still runs is not canceled, and no pass", given: []edit{sees(core.TransitionDelete, core.JobRunning)}, want: "Failed DeadlineExceeded Inconclusive False/CleanupPending workspace after 0s"},
		{why: "nothing is sent with that verdict: cleanup does it", given: []edit{sees(core.TransitionStart, core.JobSucceeded)}, want: "Failed DeadlineExceeded Inconclusive False/CleanupPending workspace after 0s"},
	})
}
