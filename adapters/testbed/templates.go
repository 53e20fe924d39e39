package testbed

import (
	"embed"
	"maps"
)

//go:embed templates/*.tf
var templateFiles embed.FS

// Lines that a variant prints before it fails, for tests that look for them in
// logs and in messages.
const (
	StartupFailureLine = "assay: the startup script gives up"
	BuildFailureLine   = "assay: the build gives up"
	ImportFailureLine  = "assay: the import gives up"
	// SlowBuildLine is printed when the slow part of a slow build begins.
	SlowBuildLine = "assay: the build waits"
)

// Template is what a template version is made of, and the settings of the
// template that is made with it.
type Template struct {
	// Files are the names and contents of the Terraform files.
	Files map[string]string
	// ClassicParameters switches from the dynamic parameter flow, Coder's
	// default, to the classic one.
	ClassicParameters bool
	// ForbidCancel keeps users from canceling builds.
	ForbidCancel bool
}

// Classic is the template under the classic parameter flow.
func (t Template) Classic() Template {
	t.ClassicParameters = true
	return t
}

// Uncancelable is the template with canceling forbidden.
func (t Template) Uncancelable() Template {
	t.ForbidCancel = true
	return t
}

// With is the template with one file more, or another one of that name.
func (t Template) With(name, content string) Template {
	t.Files = maps.Clone(t.Files)
	t.Files[name] = content
	return t
}

// Passing has one agent, which connects and becomes ready.
func Passing() Template { return template("agent", "passing") }

// StartupFails has an agent whose startup script prints [StartupFailureLine]
// and exits 1: the workspace runs, the agent is start_error.
func StartupFails() Template { return template("agent", "startup-fails") }

// StartupTimeout has an agent with a script that runs into its timeout of one
// second: the agent becomes start_timeout.
func StartupTimeout() Template { return template("agent", "startup-timeout") }

// SlowStartup has an agent whose startup script takes as long as the parameter
// "seconds" says, 60 by default.
func SlowStartup() Template { return template("agent", "seconds", "slow-startup") }

// BuildFails prints [BuildFailureLine] in its build, which then fails.
func BuildFails() Template { return template("build-fails") }

// SlowBuild prints [SlowBuildLine] and then builds as long as the parameter
// "seconds" says, 60 by default. It has no agent.
func SlowBuild() Template { return template("seconds", "slow-build") }

// NoAgent builds at once and has no agent.
func NoAgent() Template { return template("no-agent") }

// AgentNeverConnects has an agent that nobody starts and that has one second to
// connect: it becomes timeout.
func AgentNeverConnects() Template { return template("agent-never-connects") }

// Parameters has one agent and parameters of every kind: "project" is
// required; "outcome" is one of pass, startup-fails and build-fails and does
// what it says; "size" is a number from 1 to 5; "color" matches ^[a-z]+$;
// "debug" is a bool.
func Parameters() Template { return template("agent", "parameters") }

// Presets is [Parameters] with two presets, both of which set project: "good",
// the default, says outcome=pass and size=3; "bad" says outcome=build-fails.
func Presets() Template { return template("agent", "parameters", "presets") }

// ImportFails prints [ImportFailureLine] when it is imported, and fails. Give
// it to [Bed.PushVersion].
func ImportFails() Template { return template("import-fails") }

// ExternalAuth is [Passing] that needs the external authentication "assay",
// which no user of a bed can have.
func ExternalAuth() Template { return template("agent", "passing", "external-auth") }

// NoProvisioner is [Passing] until the parameter "tag" names something else
// than "scope": then no provisioner daemon takes the build.
func NoProvisioner() Template { return template("agent", "passing", "no-provisioner") }

// template puts embedded files together. Each name stands for one that exists,
// as a test of every variant says.
func template(names ...string) Template {
	t := Template{Files: map[string]string{}}
	for _, name := range append([]string{"provider"}, names...) {
		text, err := templateFiles.ReadFile("templates/" + name + ".tf")
		if err != nil {
			panic(err)
		}
		t.Files[name+".tf"] = string(text)
	}
	return t
}
