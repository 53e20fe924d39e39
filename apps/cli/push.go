package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/templatefolder"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
)

const pushLong = `Upload a folder as a new version of a template that exists, and wait for its import.
The version does not become the active one: nobody's workspaces change.

The version's name is --name, else the short name of the Git commit that is checked
out, with "-dirty" where the folder differs from it, and with the next free number where
that is taken. The archive is what the coder command would push: without hidden files,
Terraform's state and files such as terraform.tfvars, whose values --variables-file
gives.

The values of --variable are visible to every user of the machine, as all arguments
are. Secrets belong into the file of --variables-file. This command and "assay run"
mask every value in what they print. "assay resume" and other later commands do not know
the values: of a test that was cut off they mask the token and the parameters only.

` + pushTokenHelp + `

` + connectionHelp + `

The import's log goes to the standard error; the version's name and ID go to the
standard output. "assay run --push" does this and tests the version.

Exit codes:
  0    the version is there and can be tested
  1    the import failed, which its log explains; the version remains, inactive
  2    usage: the flags or the folder are wrong, or --name is taken
  3    Coder could not be asked, the right is missing, or the import did not end
  130  interrupted (SIGINT); the import is canceled
  143  terminated (SIGTERM); the import is canceled`

const pushExample = `  # Push the folder "docker" as an inactive version, named after the Git commit.
  assay push docker --template coder.docker

  # Give the template's variables their values, secrets from a file.
  assay push docker --template coder.docker --variable image=debian --variables-file secrets.yaml

  # Test what was pushed.
  assay run --template coder.docker --version "$(assay push docker --template coder.docker | cut -d ' ' -f 2)"`

// pushFlags describe the version to make.
type pushFlags struct {
	name, message, variablesFile string
	variables, tags              []string
	importTimeout                time.Duration
}

func (f *pushFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "name", "", "`NAME` of the new version; the Git commit's by default")
	flags.StringVar(&f.message, "message", "", "`TEXT` of the new version; the first line of the Git commit's message by default")
	flags.StringArrayVar(&f.variables, "variable", nil, "value of a Terraform variable as `NAME=VALUE`; may be repeated. No secrets: arguments are visible")
	flags.StringVar(&f.variablesFile, "variables-file", "", "YAML `FILE` with values of Terraform variables, which may be secrets")
	flags.StringArrayVar(&f.tags, "provisioner-tag", nil, "provisioner tag of the import as `KEY=VALUE`; may be repeated")
	f.importTimeout = 15 * time.Minute
	flags.Var((*duration)(&f.importTimeout), "import-timeout", "how long the import may take")
}

// request reads the folder and what the flags name. Every error is a usage error, names
// the flag, and holds no value of a variable.
func (f *pushFlags) request(ctx context.Context, env Env, folder, dir, template string) (publish.Request, error) {
	ref, err := core.ParseTemplateRef(template)
	if err != nil {
		return publish.Request{}, templateError(template, err)
	}
	if f.importTimeout <= 0 {
		return publish.Request{}, usage("--import-timeout: %v: must be more than 0", f.importTimeout)
	}
	request := publish.Request{Template: ref, Timeout: f.importTimeout}
	if request.Variables, err = f.values(); err != nil {
		return publish.Request{}, err
	}
	if request.Tags, err = parseTags(f.tags); err != nil {
		return publish.Request{}, err
	}
	if rule := publish.NameRule(f.name); f.name != "" && rule != "" {
		return publish.Request{}, usage("--name: %q: %s", f.name, rule)
	}
	archive, err := templatefolder.Pack(ctx, dir)
	if err != nil {
		return publish.Request{}, usage("%s: %w", folder, err)
	}
	request.Archive = archive.Tar
	if request.Name, request.Message, err = f.named(ctx, env, dir); err != nil {
		return publish.Request{}, err
	}
	for _, name := range archive.Variables {
		fmt.Fprintf(env.Stderr, "%s is left out: give its values with --variables-file\n", name)
	}
	fmt.Fprintf(env.Stderr, "packed %d files of %s, %s\n", archive.Files, dir, templatefolder.Size(int64(len(archive.Tar))))
	return request, nil
}

// named finds the version's name and message: what was given, else what Git says.
func (f *pushFlags) named(ctx context.Context, env Env, dir string) (publish.Name, string, error) {
	if f.name != "" && f.message != "" {
		return publish.Name{Base: f.name, Fixed: true}, f.message, nil
	}
	revision, err := templatefolder.ReadRevision(ctx, dir)
	message := cmp.Or(f.message, revision.Subject)
	switch {
	case f.name != "":
		return publish.Name{Base: f.name, Fixed: true}, message, nil
	case err != nil:
		random, err := uuid.NewRandomFromReader(env.Random)
		if err != nil {
			return publish.Name{}, "", failure(fmt.Errorf("make a name: %w", err))
		}
		return publish.Name{Base: "push-" + random.String()[:8]}, message, nil
	case revision.Dirty:
		return publish.Name{Base: revision.Commit + "-dirty"}, message, nil
	default:
		return publish.Name{Base: revision.Commit}, message, nil
	}
}

// templateError names the flag.
func templateError(template string, err error) error {
	if template == "" {
		return usage(`--template is missing: name the template as ORGANIZATION.NAME, for example "--template coder.docker"`)
	}
	return specError(err, core.Spec{Template: template})
}

func parseTags(pairs []string) (map[string]string, error) {
	tags := map[string]string{}
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, usage("--provisioner-tag: %q: must be KEY=VALUE, for example --provisioner-tag pool=gpu", pair)
		}
		tags[key] = value
	}
	return tags, nil
}

// pushOptions are the flags of assay push.
type pushOptions struct {
	connection connectionFlags
	token      pushTokenFlag
	push       pushFlags
	template   string
	output     outputFormat
}

func newPushCommand(env Env, code *int) *cobra.Command {
	o := pushOptions{output: outputText}
	cmd := &cobra.Command{
		Use:                   "push DIR --template ORGANIZATION.NAME [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Make an inactive version of a template from a folder",
		Long:                  pushLong,
		Example:               pushExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one folder to push, for example \"assay push . --template coder.docker\"")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			*code, err = o.run(cmd.Context(), env, args[0])
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.template, "template", "", "template as `ORGANIZATION.NAME`")
	o.push.register(flags)
	o.token.register(flags)
	o.connection.register(flags)
	flags.VarP(&o.output, "output", "o", "form of the result")
	return cmd
}

func (o *pushOptions) run(ctx context.Context, env Env, dir string) (int, error) {
	connection, err := o.token.connection(env, &o.connection)
	if err != nil {
		return 0, err
	}
	obeyAgain, err := obeyNothing(env)
	if err != nil {
		return 0, err
	}
	defer obeyAgain()
	request, err := interruptible(ctx, env, func(ctx context.Context) (publish.Request, error) {
		return o.push.request(ctx, env, "the folder to push", dir, o.template)
	})
	if err != nil {
		return 0, err
	}
	publisher, err := newPublisher(env, connection, request.Variables...)
	if err != nil {
		return 0, err
	}
	pushed, signal, err := untilSignal(ctx, env, func(ctx context.Context) (publish.Pushed, error) {
		return publisher.Push(ctx, request)
	})
	code := publishCode(err, signal)
	err = publisher.explain(err, signal)
	document := publisher.pushReport(o.template, pushed, err)
	document.ExitCode = &code
	switch {
	case o.output == outputJSON:
		if writing := report.WriteJSON(env.Stdout, document); writing != nil {
			return written(code, writing)
		}
	case err == nil:
		if _, writing := fmt.Fprintf(env.Stdout, "%s %s\n", pushed.Version.Name, pushed.Version.ID); writing != nil {
			return written(code, writing)
		}
	}
	if err != nil {
		return 0, &exitError{code, err}
	}
	return code, nil
}

// pushReport tells how far a push came; err is explained.
func (p *publisher) pushReport(template string, pushed publish.Pushed, err error) report.Push {
	version := pushed.Version
	document := report.Push{
		Template: template, TemplateID: pushed.Template.ID, Version: reportedVersionOf(version.TemplateVersion),
		Message: version.Message, Import: string(version.Import), ImportError: p.show(version.ImportError),
		ActiveBefore: reportedVersionOf(pushed.ActiveBefore), CreatedAt: version.CreatedAt,
	}
	if err != nil {
		document.Error = err.Error()
	}
	return document
}
