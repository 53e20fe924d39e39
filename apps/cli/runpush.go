package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
)

// runPushHelp says what run does beside the test.
const runPushHelp = `With --push the version to test is made first, from a folder ("assay push --help" tells
of the flags for that); it is not active. With --promote the tested version becomes the
active one, only if the test passed and the active version still is the one from before
the push.`

// runPush are the flags of assay run for what comes before and after the test.
type runPush struct {
	dir     string
	promote bool
	flags   pushFlags
	token   pushTokenFlag
}

func (f *runPush) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "push", "", "make the version to test from the folder `DIR`")
	flags.BoolVar(&f.promote, "promote", false, "make the tested version the active one if the test passed and nobody promoted another one meanwhile")
	f.flags.register(flags)
	f.token.register(flags)
}

// pushedVersion stands for the version that --push makes, until it is made.
const pushedVersion = "pushed"

// check refuses flags that do not fit together.
func (f *runPush) check(templates, versions []string, suite string) error {
	given := f.flags.given()
	switch {
	case f.dir == "" && len(given) > 0:
		return usage("%s: is for --push DIR", given[0])
	case f.dir == "" && !f.promote:
		return nil
	case suite != "":
		return usage("--push, --promote: test one version, not those of a --suite")
	case f.dir != "" && len(versions) > 0:
		return usage("--push: makes the version to test: leave out --version")
	case len(templates) > 1 || len(versions) > 1:
		return usage("--push, --promote: name one --template and one version")
	case f.promote && f.dir == "" && len(versions) == 1 && versions[0] == "active":
		return usage("--promote: \"active\" is active already: name the --version to test and promote")
	}
	return nil
}

// given are the flags that were set and mean nothing without --push.
func (f *pushFlags) given() []string {
	var names []string
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--name", f.name != ""},
		{"--message", f.message != ""},
		{"--variable", len(f.variables) > 0},
		{"--variables-file", f.variablesFile != ""},
		{"--provisioner-tag", len(f.tags) > 0},
	} {
		if flag.set {
			names = append(names, flag.name)
		}
	}
	return names
}

// publication is what a run does to the template beside its test.
type publication struct {
	publisher *publisher
	template  string
	// request is what to push, nil for nothing.
	request *publish.Request
	promote bool
	// hidden is what evidence of the test must not show.
	hidden []string

	// before is the template as it was at the start.
	before core.Template
	push   *report.Push
}

// prepare reads what is to be pushed and dials; nil where nothing is pushed or promoted.
// Nothing is asked yet.
func (f *runPush) prepare(ctx context.Context, env Env, connection *connectionFlags, template string) (*publication, error) {
	if f.dir == "" && !f.promote {
		return nil, nil
	}
	pusher, err := f.token.connection(env, connection)
	if err != nil {
		return nil, err
	}
	p := &publication{template: template, promote: f.promote}
	var variables []core.Variable
	if f.dir != "" {
		request, err := interruptible(ctx, env, func(ctx context.Context) (publish.Request, error) {
			return f.flags.request(ctx, env, "--push", f.dir, template)
		})
		if err != nil {
			return nil, err
		}
		p.request, variables = &request, request.Variables
	}
	p.hidden = append(secretsOfVariables(variables), pusher.Token.Reveal())
	p.publisher, err = newPublisher(env, pusher, variables...)
	return p, err
}

// secrets is what evidence must not show: what a variable holds reaches the build's log.
func (p *publication) secrets() []string {
	if p == nil {
		return nil
	}
	return p.hidden
}

// begin comes before the test: it pushes, or reads what is active. An error means that
// there is nothing to test.
func (p *publication) begin(ctx context.Context, env Env, spec *core.Spec) (int, error) {
	if p.request == nil {
		ref, err := core.ParseTemplateRef(p.template)
		if err != nil {
			return 0, err
		}
		p.before, err = interruptible(ctx, env, func(ctx context.Context) (core.Template, error) {
			_, template, err := p.publisher.Find(ctx, ref)
			return template, err
		})
		var coded *exitError
		if errors.As(err, &coded) {
			return coded.code, err
		}
		return publishCode(err, nil), p.publisher.explain(err, nil)
	}
	pushed, signal, err := untilSignal(ctx, env, func(ctx context.Context) (publish.Pushed, error) {
		return p.publisher.Push(ctx, *p.request)
	})
	p.before = pushed.Template
	code := publishCode(err, signal)
	err = p.publisher.explain(err, signal)
	document := p.publisher.pushReport(p.template, pushed, err)
	p.push = &document
	spec.Version = core.VersionSelector{ID: pushed.Version.ID.String()}
	if err == nil && signal != nil {
		fmt.Fprintf(env.Stderr, "version %q (%s) remains, inactive and not tested\n", pushed.Version.Name, pushed.Version.ID)
		return interruptedCode(signal), errors.New("interrupted before the test")
	}
	return code, err
}

// end comes after the test: it promotes the version that passed. It adds what was done to
// the document, whose exit code is worse for a promotion that did not happen.
func (p *publication) end(ctx context.Context, env Env, run *report.Run, interrupted bool) {
	run.Push = p.push
	if !p.promote {
		return
	}
	promotion := report.Promotion{Template: p.template}
	run.Promotion = &promotion
	if len(run.Tests) == 0 {
		promotion.Reason = "nothing was tested"
		return
	}
	test := run.Tests[len(run.Tests)-1]
	promotion.Version = report.PushedVersion{Name: test.Version.Name, ID: test.Version.ID}
	switch {
	case test.Verdict == report.NotStarted:
		promotion.Reason = "the version was not tested"
	case run.ExitCode != exitPassed || test.Verdict != report.Passed || test.Version.ID == uuid.Nil:
		promotion.Reason = "the test did not pass"
	case interrupted:
		promotion.Reason = "the run was interrupted"
		run.ExitCode = exitNotPromoted
	default:
		done, signal, err := untilSignal(ctx, env, func(ctx context.Context) (publish.Promotion, error) {
			return p.publisher.Promote(ctx, p.before, test.Version.ID, p.before.ActiveVersionID)
		})
		promotion = newPromotionReport(p.template, done, p.publisher.explain(err, signal))
		if !promotion.Active {
			run.ExitCode = exitNotPromoted
		}
	}
}

// notTested is the document of a run whose push did not end well.
func (p *publication) notTested(ctx context.Context, env Env, one plan, code int, err error) report.Run {
	failed := attempt{plan: one, number: 1, notBegun: err}
	if p.push != nil && p.push.Error != "" {
		failed.notBegun = fmt.Errorf("the push failed: %w", err)
	}
	test := failed.document(nil, false)
	test.ExitCode = &code
	if p.push != nil {
		test.Version = report.Version{Requested: pushedVersion, Name: p.push.Version.Name, ID: p.push.Version.ID}
	}
	run := report.Run{Tests: []report.Test{test}, ExitCode: code}
	p.end(ctx, env, &run, false)
	return run
}

// pushLine says in a line what was pushed; empty when nothing was.
func pushLine(push *report.Push) string {
	if push == nil || push.Version.ID == uuid.Nil {
		return ""
	}
	return fmt.Sprintf("pushed %s version %s (inactive)", push.Template, push.Version.Name)
}
