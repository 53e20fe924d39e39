package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/doctor"
)

const doctorLong = `Look whether a test could run, without making a workspace and without changing anything
in Coder: the connection, the token and its lifetime, the owner, and, as far as they are
named, the template, the version, its parameters, and what its build depends on.

Each check is a line: "ok", "warning", "failed" or "skipped", with what to do about it.
A check that needs one that failed is skipped. The reasons are those of a test: it would
wait or end with the one in the last line. Values of parameters are never shown.

` + connectionHelp + `

What only a build shows is not checked: whether the template's Terraform works, and
whether its agents get ready. "assay run" does.

` + doctorExitHelp

// doctorExitHelp is the table of this command's own codes.
const doctorExitHelp = `Exit codes:
  0    a test could run; there may be warnings
  1    a test would fail: the template, the version or its parameters are at fault
  2    usage: the flags are wrong; nothing was asked
  3    the environment would keep a test from running: connection, token, owner,
       a template or version that is not there, provisioners, the state file
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)`

const doctorExample = `  # Is this set-up good for tests at all?
  assay doctor

  # Could the active version of the template "docker" be tested, with a parameter?
  assay doctor --template coder.docker --version active --param region=eu

  # Could this tester own the workspaces? As JSON, what is not well.
  assay doctor --owner ci-tester --template coder.docker --output json | \
    jq '.checks[] | select(.state != "ok")'`

// doctorOptions are the flags of assay doctor.
type doctorOptions struct {
	connection connectionFlags
	owner      ownerFlags
	spec       specFlags
	state      string
	output     outputFormat
}

func newDoctorCommand(env Env, code *int) *cobra.Command {
	o := doctorOptions{output: outputText}
	cmd := &cobra.Command{
		Use:                   "doctor [--template ORGANIZATION.NAME [--version NAME|ID|active]] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Look whether a test could run, and what to fix",
		Long:                  doctorLong,
		Example:               doctorExample,
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			*code, err = o.run(cmd.Context(), env)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.spec.register(flags)
	o.connection.register(flags)
	o.owner.register(flags)
	flags.VarP(&o.output, "output", "o", "form of the findings")
	registerState(flags, &o.state)
	return cmd
}

// run is the command after its flags were read.
func (o *doctorOptions) run(ctx context.Context, env Env) (int, error) {
	question, err := o.question()
	if err != nil {
		return 0, err
	}
	state, err := statePath(env, o.state)
	if err != nil {
		return 0, err
	}
	connection, err := o.connection.resolve(env)
	if err != nil {
		return 0, err
	}
	question.Address = connection.URL
	runner, err := env.Dial(connection)
	if err != nil {
		return 0, usage("%w", err)
	}
	findings := doctor.Findings{checkState(ctx, env, state)}
	asked, err := interruptible(ctx, env, func(ctx context.Context) (doctor.Findings, error) {
		slow := newSlowness(env)
		defer slow.end()
		return doctor.Examine(ctx, runner, question, slow.begin), nil
	})
	if err != nil {
		return 0, err
	}
	findings = inFlags(append(findings, asked...))
	code := doctorCode(findings)
	if o.output == outputJSON {
		return written(code, report.WriteJSON(env.Stdout, newDiagnosis(findings, code)))
	}
	return written(code, writeFindings(env.Stdout, findings, o.spec.version != ""))
}

// question is what the flags ask about.
func (o *doctorOptions) question() (doctor.Question, error) {
	spec, err := o.spec.partial()
	if err != nil {
		return doctor.Question{}, err
	}
	question := doctor.Question{
		OwnerName: firstOf(o.owner.owner, doctor.Me), Spec: spec,
		Policy: core.Policy{AllowPrivilegedOwner: o.owner.allowPrivileged, AllowPersonalOwner: o.owner.allowPersonal},
	}
	if id, err := uuid.Parse(o.owner.owner); err == nil {
		question.OwnerName, question.Policy.OwnerUserID = "", id.String()
	}
	return question, nil
}

// partial is the description of the test as far as it is given. What is given must be
// right, and say something.
func (f *specFlags) partial() (core.Spec, error) {
	switch {
	case f.template == "" && (f.version != "" || len(f.params) > 0 || f.preset != ""):
		return core.Spec{}, usage("--template is missing: --version, --param and --preset are about a version of a template")
	case f.version == "" && (len(f.params) > 0 || f.preset != ""):
		return core.Spec{}, usage(`--version is missing: --param and --preset are about a version; give its name or ID, or "--version active"`)
	}
	whole := *f
	whole.template, whole.version = firstOf(f.template, "any.any"), firstOf(f.version, "active")
	spec, err := whole.spec()
	if err != nil {
		return core.Spec{}, err
	}
	spec.Template = f.template
	if f.version == "" {
		spec.Version = core.VersionSelector{}
	}
	return spec, nil
}

// doctorCode is the exit code that the findings mean.
func doctorCode(findings doctor.Findings) int {
	switch findings.Class() {
	case core.OutcomePassed:
		return exitPassed
	case core.OutcomeTemplateFailed:
		return exitFailed
	default:
		return exitInconclusive
	}
}

// inFlags says in the words of the command line what the core says in its own.
func inFlags(findings doctor.Findings) doctor.Findings {
	words := strings.NewReplacer(
		"allowPersonalOwner", "--allow-personal-owner", "allowPrivilegedOwner", "--allow-privileged-owner",
		"to the trusted ones", "with --ca-file", "use a tester: ", "use a tester (its own token, or --owner): ",
		"check the address", "check the address (--url, "+envURL+")",
	)
	for i := range findings {
		findings[i].Message = words.Replace(core.Printable(findings[i].Message))
		findings[i].Fix = words.Replace(findings[i].Fix)
	}
	return findings
}

// writeFindings tells a person what was found: a line a check. whole tells that a version
// was named.
func writeFindings(out io.Writer, findings doctor.Findings, whole bool) error {
	var text strings.Builder
	for _, f := range findings {
		message := strings.ReplaceAll(f.Message, "\n", " ")
		fmt.Fprintf(&text, "%-8s %-15s %s\n", f.State, f.Name, message)
		if f.Fix != "" {
			fmt.Fprintf(&text, "%-8s %-15s to do: %s\n", "", "", f.Fix)
		}
	}
	fmt.Fprintf(&text, "\n%s\n", prognosis(findings, whole))
	_, err := io.WriteString(out, text.String())
	return err
}

// prognosis is what would come of a test. whole tells that a version was named.
func prognosis(findings doctor.Findings, whole bool) string {
	var counts []string
	for _, state := range []doctor.State{doctor.Failed, doctor.Warning, doctor.Skipped} {
		if n := findings.Count(state); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	count := ""
	if len(counts) > 0 {
		count = " (" + strings.Join(counts, ", ") + ")"
	}
	decisive := findings.Decisive()
	switch {
	case findings.Count(doctor.Failed) == 0 && decisive != nil:
		return fmt.Sprintf("A test could begin, and would first wait with %s%s.", decisive.Reason, count)
	case findings.Count(doctor.Failed) == 0 && !whole:
		return "Nothing was found that would keep a test from running" + count + ": name --template and --version to have them looked at, too."
	case findings.Count(doctor.Failed) == 0:
		return "A test could run" + count + "."
	case decisive != nil:
		return fmt.Sprintf("A test would not pass: %s%s.", decisive.Reason, count)
	default:
		return "A test could not begin" + count + "."
	}
}

// diagnosis is the JSON form of the findings. It is part of the public contract: fields are
// added, never renamed or removed.
type diagnosis struct {
	// OK: no check failed.
	OK bool `json:"ok"`
	// Reason is what a test would wait or end with first; absent for nothing.
	Reason   core.Reason       `json:"reason,omitempty"`
	Checks   []reportedFinding `json:"checks"`
	ExitCode int               `json:"exitCode"`
}

type reportedFinding struct {
	Name    string       `json:"name"`
	State   doctor.State `json:"state"`
	Message string       `json:"message"`
	Fix     string       `json:"fix,omitempty"`
	Reason  core.Reason  `json:"reason,omitempty"`
}

func newDiagnosis(findings doctor.Findings, code int) diagnosis {
	d := diagnosis{OK: findings.Count(doctor.Failed) == 0, ExitCode: code}
	if decisive := findings.Decisive(); decisive != nil {
		d.Reason = decisive.Reason
	}
	for _, f := range findings {
		d.Checks = append(d.Checks, reportedFinding{Name: f.Name, State: f.State, Message: f.Message, Fix: f.Fix, Reason: f.Reason})
	}
	return d
}

// briefly is how long a question may take until somebody is told.
const briefly = time.Second

// slowness tells on the standard error what is waited for.
type slowness struct {
	env  Env
	stop func()
}

func newSlowness(env Env) *slowness { return &slowness{env: env, stop: func() {}} }

func (s *slowness) begin(check string) {
	s.end()
	timer := s.env.Clock.AfterFunc(briefly, func() {
		fmt.Fprintf(s.env.Stderr, "waiting for Coder's answer about: %s\n", check)
	})
	s.stop = func() { timer.Stop() }
}

func (s *slowness) end() { s.stop() }
