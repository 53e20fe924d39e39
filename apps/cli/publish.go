package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
)

// envPushToken is the token of whoever may change templates.
const envPushToken = "ASSAY_PUSH_TOKEN"

// pushTokenHelp says whose token pushes and promotes.
const pushTokenHelp = `Pushing and promoting take the role "template admin". The token for both is read from
--push-token-file, else ` + envPushToken + `, else it is the ordinary one: with a token of
its own, the tester's token needs no right on templates.`

// pushTokenFlag names the token of whoever may change templates.
type pushTokenFlag struct{ file string }

func (f *pushTokenFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "push-token-file", "", "`FILE` that holds the session token for push and promote")
}

// connection is the deployment's, with the token for push and promote.
func (f *pushTokenFlag) connection(env Env, ordinary *connectionFlags) (core.Connection, error) {
	return ordinary.resolveWith(env, func(env Env, login login, address string) (core.Secret, error) {
		if f.file != "" {
			return tokenFrom("--push-token-file", f.file)
		}
		if token := env.lookup(envPushToken); token != "" {
			return checkedToken(envPushToken, token)
		}
		return ordinary.token(env, login, address)
	})
}

// publisher publishes, and knows what nobody may see of it.
type publisher struct {
	publish.Publisher
	mask core.Mask
}

// newPublisher dials the deployment. The publisher tells its progress on the standard
// error, with the secrets masked.
func newPublisher(env Env, connection core.Connection, variables ...core.Variable) (*publisher, error) {
	runner, err := env.Dial(connection)
	if err != nil {
		return nil, usage("%w", err)
	}
	door, ok := runner.(publish.Coder)
	if !ok {
		return nil, usage("this connection cannot push or promote")
	}
	p := &publisher{mask: core.NewMask(append(secretsOfVariables(variables), connection.Token.Reveal())...)}
	stage := ""
	p.Publisher = publish.Publisher{
		Coder: door, Clock: env.Clock,
		Say: func(line string) { fmt.Fprintln(env.Stderr, p.line(line)) },
		Log: func(line core.LogLine) {
			if line.Stage != stage {
				stage = line.Stage
				fmt.Fprint(env.Stderr, p.indented("  == ", stage))
			}
			fmt.Fprint(env.Stderr, p.indented("  | ", line.Text))
		},
	}
	return p, nil
}

// show is the text as it may be shown.
func (p *publisher) show(text string) string { return p.mask.Apply(core.Printable(text)) }

// indented is the text as it may be shown, with the bar before each line that is not
// empty: the bar keeps a template from speaking to a pipeline that reads commands at the
// begin of a line, and what is one line to Coder can be several here.
func (p *publisher) indented(bar, text string) string {
	var all strings.Builder
	for line := range strings.SplitSeq(p.show(text), "\n") {
		if strings.TrimSpace(line) != "" {
			all.WriteString(bar + line + "\n")
		}
	}
	return all.String()
}

// line is the text as it may be shown, in one line.
func (p *publisher) line(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(p.show(text)), "\n", "; ")
}

// publishCode is the exit code of a push or a promotion that ended with err.
func publishCode(err error, signal os.Signal) int {
	switch {
	case err == nil:
		return exitPassed
	case signal != nil:
		return interruptedCode(signal)
	case errors.Is(err, publish.ErrImportFailed):
		return exitFailed
	case errors.Is(err, publish.ErrNameTaken):
		return exitUsage
	case errors.Is(err, publish.ErrRefused):
		return exitNotPromoted
	default:
		return exitInconclusive
	}
}

// explain says what err means for a person: what Coder, or the way to it, said in the
// words of the other commands, with the secrets masked.
func (p *publisher) explain(err error, signal os.Signal) error {
	var refused *core.Failure
	var unknown *publish.UnknownError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLeft):
		return err
	case signal != nil && errors.As(err, &unknown):
		return errors.New("interrupted: " + p.line(unknown.Error()))
	case signal != nil:
		return errors.New("interrupted")
	case errors.Is(err, publish.ErrRefused), errors.Is(err, publish.ErrNotFound), !errors.As(err, &refused):
		return errors.New(p.line(err.Error()))
	case refused.Class == core.FailureUnauthorized:
		return fmt.Errorf("coder does not accept the token for push and promote (HTTP %d: %s): see --push-token-file and %s",
			refused.Status, p.line(refused.Message), envPushToken)
	case refused.Class == core.FailureUnavailable && refused.Status == 0:
		return fmt.Errorf("coder cannot be reached: %s: check the address (--url, %s) and the network", p.line(refused.Message), envURL)
	default:
		return errors.New(p.line(err.Error()))
	}
}

func reportedVersionOf(version core.TemplateVersion) report.PushedVersion {
	return report.PushedVersion{Name: version.Name, ID: version.ID}
}
