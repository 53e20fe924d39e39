package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
)

const promoteLong = `Make a version of a template the active one: new workspaces are made from it, and
existing ones are told that they are outdated.

With --expect-active the version is promoted only if that one is active right before.
Coder itself has no such condition: a promotion by somebody else within the few
milliseconds between the look and the change is overwritten. One that comes right after
it is seen and told.

` + pushTokenHelp + `

` + connectionHelp + `

Exit codes:
  0    the version is active, because of this or before
  2    usage: the flags are wrong
  3    Coder could not be asked, the right is missing, or nothing has the name
  5    not promoted: another version is active than expected, or the version is archived
       or was not imported
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)`

const promoteExample = `  # Make the version "3f2c1ab" active.
  assay promote --template coder.docker --version 3f2c1ab

  # Only if nobody has promoted another one than "v7" meanwhile.
  assay promote --template coder.docker --version 3f2c1ab --expect-active v7`

// promoteOptions are the flags of assay promote.
type promoteOptions struct {
	connection                connectionFlags
	token                     pushTokenFlag
	template, version, expect string
	output                    outputFormat
}

func newPromoteCommand(env Env, code *int) *cobra.Command {
	o := promoteOptions{output: outputText}
	cmd := &cobra.Command{
		Use:                   "promote --template ORGANIZATION.NAME --version NAME|ID [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Make a version of a template the active one",
		Long:                  promoteLong,
		Example:               promoteExample,
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			*code, err = o.run(cmd.Context(), env)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.template, "template", "", "template as `ORGANIZATION.NAME`")
	flags.StringVar(&o.version, "version", "", "version to promote: its `NAME` or ID")
	flags.StringVar(&o.expect, "expect-active", "", "`NAME` or ID of the version that must be the active one before")
	o.token.register(flags)
	o.connection.register(flags)
	flags.VarP(&o.output, "output", "o", "form of the result")
	return cmd
}

func (o *promoteOptions) run(ctx context.Context, env Env) (int, error) {
	ref, err := core.ParseTemplateRef(o.template)
	if err != nil {
		return 0, templateError(o.template, err)
	}
	switch o.version {
	case "":
		return 0, usage("--version is missing: give the name or the ID of the version to promote")
	case "active":
		return 0, usage("--version: \"active\" is active already: give the name or the ID of the version to promote")
	}
	connection, err := o.token.connection(env, &o.connection)
	if err != nil {
		return 0, err
	}
	obeyAgain, err := obeyNothing(env)
	if err != nil {
		return 0, err
	}
	defer obeyAgain()
	publisher, err := newPublisher(env, connection)
	if err != nil {
		return 0, err
	}
	promotion, signal, err := untilSignal(ctx, env, func(ctx context.Context) (publish.Promotion, error) {
		return o.promote(ctx, publisher, ref)
	})
	code := promotionCode(promotion, err)
	err = publisher.explain(err, signal)
	if signal != nil && !promotion.Active {
		code = interruptedCode(signal)
	}
	document := newPromotionReport(o.template, promotion, err)
	document.ExitCode = &code
	if writing := writePromotion(env.Stdout, o.output, document); writing != nil {
		return written(code, writing)
	}
	if err != nil {
		return 0, &exitError{code, err}
	}
	return code, nil
}

func (o *promoteOptions) promote(ctx context.Context, publisher *publisher, ref core.TemplateRef) (publish.Promotion, error) {
	_, template, err := publisher.Find(ctx, ref)
	if err != nil {
		return publish.Promotion{}, err
	}
	version, err := publisher.Resolve(ctx, template, o.version)
	if err != nil {
		return publish.Promotion{}, err
	}
	expected := uuid.Nil
	if o.expect != "" {
		if expected, err = publisher.Resolve(ctx, template, o.expect); err != nil {
			return publish.Promotion{}, err
		}
	}
	return publisher.Promote(ctx, template, version, expected)
}

// promotionCode is the exit code of a promotion.
func promotionCode(promotion publish.Promotion, err error) int {
	switch {
	case err != nil:
		return publishCode(err, nil)
	case !promotion.Active:
		return exitNotPromoted
	default:
		return exitPassed
	}
}

// newPromotionReport tells how a promotion ended; err is explained.
func newPromotionReport(template string, promotion publish.Promotion, err error) report.Promotion {
	document := report.Promotion{
		Template: template, Version: reportedVersionOf(promotion.Version),
		Active: promotion.Active, Changed: promotion.Changed, Reason: promotion.Reason,
		Was: reportedVersionOf(promotion.Was), Now: reportedVersionOf(promotion.Now),
	}
	if err != nil {
		document.Reason = err.Error()
	}
	return document
}

// writePromotion tells the result; in text nothing of an error, which is told elsewhere.
func writePromotion(out io.Writer, output outputFormat, document report.Promotion) error {
	if output == outputJSON {
		return report.WriteJSON(out, document)
	}
	_, err := fmt.Fprintln(out, promotionLine(document))
	return err
}

// promotionLine says in a line what became of a promotion.
func promotionLine(document report.Promotion) string {
	version := firstOf(document.Version.Name, document.Version.ID.String())
	switch {
	case document.Changed:
		return fmt.Sprintf("promoted %s version %s (was %s)", document.Template, version, firstOf(document.Was.Name, document.Was.ID.String()))
	case document.Active:
		return fmt.Sprintf("%s version %s is active already", document.Template, version)
	default:
		return "not promoted: " + document.Reason
	}
}
