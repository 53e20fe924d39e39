package worldtest

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports/porttest"
)

// kinds says how the versions of the templates behave.
var kinds = map[porttest.TemplateKind]world.VersionSpec{
	porttest.Passing: starts(world.BuildPlan{Log: "Plan: 1 to add, 0 to change, 0 to destroy.", Agents: []world.AgentPlan{
		printing(world.ReadyAgent("main", time.Second, time.Second)),
	}}),
	porttest.StartScriptFails: starts(world.BuildPlan{Agents: []world.AgentPlan{world.FailingAgent("main", time.Second, time.Second)}}),
	porttest.BuildFails:       starts(world.BuildPlan{Outcome: world.Fails}),
	porttest.NoAgents:         starts(world.BuildPlan{}),
	porttest.NeverConnects:    starts(world.BuildPlan{Agents: []world.AgentPlan{world.AbsentAgent("main", 5*time.Second)}}),
	porttest.SlowBuild:        starts(world.BuildPlan{Outcome: world.RunsForever, Cancel: time.Second}),
	porttest.UncancelableBuild: {
		Start: []world.BuildPlan{{Run: 5 * time.Second}}, Delete: []world.BuildPlan{{Run: time.Second}},
	},
	porttest.ClassicParameters: withParameters,
	porttest.DynamicParameters: withParameters,
	porttest.UnmatchedProvisioner: {
		Parameters: []world.ParameterSpec{{Name: porttest.PoolParameter, Default: "default"}},
		StartWith: map[world.ParameterValue][]world.BuildPlan{
			{Name: porttest.PoolParameter, Value: porttest.PoolNobodyServes}: {{
				NoProvisioners: true, Tags: map[string]string{"pool": porttest.PoolNobodyServes},
			}},
		},
	},
	porttest.ImportFails:       {Import: world.ImportPlan{Ends: core.JobFailed}},
	porttest.ImportPending:     {Tags: map[string]string{"pool": porttest.PoolNobodyServes}},
	porttest.Archived:          {},
	porttest.NeedsExternalAuth: {ExternalAuth: []world.ExternalAuth{{Provider: porttest.ExternalAuthID}}},
	porttest.ExternalAgent:     {HasExternalAgent: true},
}

var withParameters = world.VersionSpec{
	Parameters: []world.ParameterSpec{
		{Name: porttest.ParameterRegion, Required: true, Options: []string{porttest.RegionEU, porttest.RegionUS}},
		{Name: porttest.ParameterCPUs, Type: "number", Default: "2", Min: bound(1), Max: bound(8)},
		{Name: porttest.ParameterDebug, Type: "bool", Default: "false"},
	},
	Presets: []world.PresetSpec{{Name: porttest.PresetSmall, Values: map[string]string{
		porttest.ParameterRegion: porttest.RegionEU, porttest.ParameterCPUs: "1",
	}}},
}

func starts(plan world.BuildPlan) world.VersionSpec {
	plan.Queue, plan.Run = 250*time.Millisecond, time.Second
	return world.VersionSpec{Start: []world.BuildPlan{plan}, Delete: []world.BuildPlan{{Run: time.Second}}}
}

func printing(agent world.AgentPlan) world.AgentPlan {
	agent.Scripts = []world.ScriptLog{{DisplayName: "Startup Script", Text: porttest.StartScriptOutput + "\n"}}
	return agent
}

func bound(n int) *int { return &n }

// Template implements porttest.Deployment.
func (d *Deployment) Template(t *testing.T, kind porttest.TemplateKind) porttest.Subject {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if subject, ok := d.templates[kind]; ok {
		return subject
	}
	spec, ok := kinds[kind]
	if !ok {
		t.Fatalf("no template of the kind %q", kind)
	}
	template := d.World.AddTemplate(world.TemplateSpec{
		Organization: d.org.ID, Name: string(kind), Classic: kind == porttest.ClassicParameters,
		ForbidCancel: kind == porttest.UncancelableBuild,
	})
	switch kind {
	case porttest.ImportFails, porttest.ImportPending, porttest.Archived:
		d.World.AddVersion(world.VersionSpec{Template: template.ID, Name: "v0"})
	}
	spec.Template, spec.Name = template.ID, "v1"
	version := d.World.AddVersion(spec)
	if kind == porttest.Archived {
		if err := d.World.SetArchived(d.admin.ID, version.ID, true); err != nil {
			t.Fatalf("archive version: %v", err)
		}
	}
	subject := porttest.Subject{
		OrganizationID: d.org.ID, OrganizationName: d.org.Name, TemplateID: template.ID, TemplateName: template.Name,
		VersionID: version.ID, VersionName: version.Name,
	}
	d.templates[kind] = subject
	return subject
}
