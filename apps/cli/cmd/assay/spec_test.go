package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/fakes/world"
)

const (
	// longestName is the longest name of a template that Coder takes, longestVersion
	// that of a version.
	longestName    = "a1234567890123456789012345678901"
	longestVersion = "v123456789-123456789_123456789.123456789-123456789-123456789-123"
	// checksum is a name that could be read as a UUID without its dashes.
	checksum = "0123456789abcdef0123456789abcdef"
)

// longestParameter is the longest name of a parameter that a test takes.
var longestParameter = strings.Repeat("p", 128)

// addEdges adds templates and versions whose names are as long, or as odd, as they may
// be, and a template "many" with as many parameters as a test takes.
func addEdges(w *world.World) {
	tester, _ := w.UserNamed("tester")
	organization := tester.Memberships[0].Organization.ID
	const short = 10 * time.Millisecond
	add := func(template, version string, parameters []world.ParameterSpec, presets ...world.PresetSpec) {
		made := w.AddTemplate(world.TemplateSpec{Organization: organization, Name: template})
		w.AddVersion(world.VersionSpec{
			Template: made.ID, Name: version, Parameters: parameters, Presets: presets,
			Start: []world.BuildPlan{{Run: short, Agents: []world.AgentPlan{world.ReadyAgent("main", short, short)}}},
		})
	}
	add(longestName, longestVersion, nil)
	add("New", checksum, nil)
	add("a", "1", nil)
	many := []world.ParameterSpec{{Name: longestParameter, Default: "x"}}
	for i := len(many); i < 64; i++ {
		many = append(many, world.ParameterSpec{Name: fmt.Sprint("p", i), Default: "x"})
	}
	add("many", "v1", many, world.PresetSpec{Name: "all ones", Values: map[string]string{"p1": "1"}})
}

// pairs are n parameters that the template "many" has.
func pairs(n int) []string {
	args := []string{"--param", longestParameter + "=1"}
	for i := 1; i < n; i++ {
		args = append(args, "--param", fmt.Sprintf("p%d=", i))
	}
	return args
}

// TestSpecRules has each rule for the description of a test broken, beside its bound. A
// test that breaks one is not stored, and Coder is not asked.
func TestSpecRules(t *testing.T) {
	t.Parallel()
	run := func(args ...string) line { return line{Args: append([]string{"run"}, args...)} }
	template := func(name string) line { return run("--version", "active", "--template", name) }
	version := func(name string) line { return run("--template", "coder.docker", "--version", name) }
	active := func(args ...string) line { return line{Args: testActive(args...)} }
	tr := newTrial(t)
	tr.serve(tr.coder())
	tr.secrets = append(tr.secrets, "hunter2")
	tr.refuse(t, []refusal{
		{"no template", run("--version", "active"), []string{"--template is missing", "ORGANIZATION.NAME", `"--template coder.docker"`}},
		{"neither template nor version", run(), []string{"--template is missing", "--version is missing"}},
		{"a template without its organization", template("docker"), []string{`--template: "docker": must be "<organization>.<template>", for example "coder.docker"`}},
		{"a template of three parts", template("coder.docker.v1"), []string{`--template: "coder.docker.v1": its template name must be 1 to 32 letters and digits`}},
		{"no organization's name", template(".docker"), []string{`--template: ".docker": its organization name must be 1 to 32`}},
		{"no template's name", template("coder."), []string{`--template: "coder.": its template name must be 1 to 32`}},
		{"a template's name that is too long", template("coder." + longestName + "x"), []string{"its template name must be 1 to 32"}},
		{"an organization's name that is too long", template(longestName + "x.docker"), []string{"its organization name must be 1 to 32"}},
		{"an underscore in a template's name", template("coder.my_docker"), []string{"its template name must be", "joined by single '-'"}},
		{"two dashes in a template's name", template("coder.my--docker"), []string{"its template name must be", "joined by single '-'"}},
		{"a reserved template's name", template("coder.new"), []string{`its template name must not be "new": Coder reserves it`}},
		{"another reserved template's name", template("coder.create"), []string{`its template name must not be "create"`}},
		{"a reserved organization's name", template("new.docker"), []string{`its organization name must not be "new"`}},

		{"no version", run("--template", "coder.docker"), []string{"--version is missing", "name or ID", `"--version active"`}},
		{"an empty version", version(""), []string{"--version is missing"}},
		{"a version's name that is too long", version(longestVersion + "x"), []string{"--version: ", "must be 1 to 64 letters and digits"}},
		{"a space in a version's name", version("v 1"), []string{`--version: "v 1": must be 1 to 64`, "'_', '.' or '-'"}},
		{"two dots in a version's name", version("v1..2"), []string{`--version: "v1..2": must be 1 to 64`}},
		{"the zero UUID is nobody's", version("00000000-0000-0000-0000-000000000000"), []string{"--version: ", "must be a UUID such as"}},

		{"a parameter without a value's sign", active("--param", "hunter2"), []string{"--param: number 1 of 1: must be NAME=VALUE, for example --param region=eu"}},
		{"a parameter without a name", active("--param", "region=eu", "--param", "=hunter2"), []string{"--param: number 2 of 2: must be NAME=VALUE"}},
		{"one parameter too many", active(append(pairs(64), "--param", "more=1")...), []string{"--param: may be given 64 times at most, is given 65 times"}},
		{"a parameter's name that is too long", active("--param", longestParameter+"x=1"), []string{"--param: number 1 of 1: its name must have 1 to 128 characters, has 129"}},
		{"a parameter that is given twice", active("--param", "p1=hunter2", "--param", "p1=2"), []string{`--param: "p1": is given twice; names must be unique`}},
		{"a value that is too long", active("--param", "p1="+strings.Repeat("hunter2 ", 512)+"!"), []string{`--param: "p1": its value must have at most 4096 characters, has 4097`}},

		{"a preset's name that is too long", active("--preset", strings.Repeat("p", 129)), []string{"--preset: must have at most 128 characters"}},

		{"a timeout that is too short", active("--timeout", "59s"), []string{`--timeout: "59s": must be 60 to 7200 seconds`}},
		{"a timeout that is too long", active("--timeout", "7201s"), []string{`--timeout: "2h0m1s": must be 60 to 7200 seconds`}},
		{"a timeout that is no time", active("--timeout", "soon"), []string{`"soon"`, `"--timeout"`, "such as 90s, 15m or 1h"}},
		{"a timeout without a unit", active("--timeout", "90"), []string{`"90"`, `"--timeout"`, "must be a number with a unit, such as 90s"}},
		{"a timeout with a fraction", active("--timeout", "90.5s"), []string{"--timeout: 1m30.5s: must be whole seconds"}},
		{"a timeout before the beginning", active("--timeout", "-15m"), []string{`--timeout: "-15m0s": must be 60 to 7200 seconds`}},

		{"inputs that take longer than the run", active("--timeout", "60s", "--inputs-timeout", "61s"), []string{`--inputs-timeout: "1m1s": must be 1 second to --timeout, or 0 for no bound of its own`}},
		{"inputs before the beginning", active("--inputs-timeout", "-1s"), []string{`--inputs-timeout: "-1s": must be 1 second to --timeout, or 0`}},
		{"inputs within less than a second", active("--inputs-timeout", "500ms"), []string{"--inputs-timeout: 500ms: must be whole seconds"}},
		{"inputs within no time", active("--inputs-timeout", "x"), []string{`"x"`, `"--inputs-timeout"`, "such as 90s"}},

		{"a cleanup that takes no time", active("--cleanup-timeout", "0"), []string{"--cleanup-timeout: 0s: must be more than 0"}},
		{"a flag that is none", active("--ttl", "0"), []string{"unknown flag: --ttl"}},
	})
}

// TestSpecBounds keeps the rules at their bounds, several at once.
func TestSpecBounds(t *testing.T) {
	t.Parallel()
	type row struct {
		why  string
		args []string
	}
	inParallel(t, []row{
		{"the longest names and the shortest timeout", []string{
			"run", "--template", "coder." + longestName, "--version", longestVersion, "--timeout", "60s", "--inputs-timeout", "60s",
		}},
		{"the shortest names, the longest timeout, and what users call themselves", []string{
			"run", "--template", "coder.a", "--version", "1", "--timeout", "7200s", "--inputs-timeout", "0", "--owner", "me",
		}},
		{"a reserved name in capitals, and a checksum that is a name and no ID", []string{"run", "--template", "coder.New", "--version", checksum}},
		{"case does not matter to Coder", []string{"run", "--template", "CODER.Docker", "--version", "active"}},
		{"as many parameters as may be, one with the longest name, beside a preset", append(
			[]string{"run", "--template", "coder.many", "--version", "active", "--preset", "all ones"}, pairs(64)...)},
		{"the longest value, and one with the sign in it", []string{
			"run", "--template", "coder.many", "--version", "active", "--param", "p1=" + strings.Repeat("é", 4096), "--param", "p2=a=b",
		}},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		addEdges(tr.world)
		tr.serve(tr.coder())
		tr.run(row.args...).want(t, 0, "PASSED")
		tr.created(1)
	})
}

func TestOneMistakeIsToldOnce(t *testing.T) {
	t.Parallel()
	r := newTrial(t).run(testActive("--timeout", "1s")...)
	r.want(t, 2, "--timeout:")
	if strings.Contains(r.Stderr, "--inputs-timeout") {
		t.Error("--inputs-timeout is measured by --timeout, which is what is wrong")
	}
}

// TestNamesOfNothing names what Coder does not have. That may yet come to exist, so
// there is a test, which waits for it until --inputs-timeout and then judges nothing.
func TestNamesOfNothing(t *testing.T) {
	t.Parallel()
	const nobody = "00000000-0000-4000-8000-00000000dead"
	type row struct {
		why, token string
		args       []string
		says       []string
		stored     bool
	}
	run := func(template, version string) []string {
		return []string{"run", "--template", template, "--version", version}
	}
	inParallel(t, []row{
		{"a template", "tester", run("coder.other", "active"), []string{"TemplateNotFound", "no template coder.other"}, true},
		{"an organization", "tester", run("other.docker", "active"), []string{"TemplateNotFound", "no organization other"}, true},
		{"a version by name", "tester", run("coder.docker", "v9"), []string{"TemplateVersionNotFound", "no version v9"}, true},
		{"a version by ID", "tester", run("coder.docker", nobody), []string{"TemplateVersionNotFound", "no version " + nobody}, true},
		{"an owner by name", "admin", testActive("--owner", "nobody"), []string{`--owner: no user "nobody" that the token's user can read`, "check the name"}, false},
		{"an owner by ID", "admin", testActive("--owner", nobody), []string{"OwnerNotEligible", nobody}, true},
		{"an owner whom the token's user may not see", "tester", testActive("--owner", "admin"), []string{`--owner: no user "admin"`, "a token that may read users"}, false},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		tr.serve(tr.coder())
		tr.env["CODER_SESSION_TOKEN"] = tr.tokens[row.token]
		tr.run(append(row.args, "--inputs-timeout", "3s")...).want(t, 3, row.says...)
		tr.created(0)
		if !row.stored {
			tr.storedNothing()
		}
	})
}
