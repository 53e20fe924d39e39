package gitops_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	fluxcel "github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// verdict is what a GitOps tool makes of an object.
type verdict string

const (
	waiting verdict = "waiting"
	passed  verdict = "passed"
	failed  verdict = "failed"
)

// engine judges an object as one of the tools does.
type engine func(object *unstructured.Unstructured) (verdict, error)

// engines are those of all tools, for the objects of one kind.
func engines(t *testing.T, kind string) map[string]engine {
	t.Helper()
	return map[string]engine{"Argo CD": argo(t, kind), "Flux": flux(t)}
}

// argo runs the health script of a kind as Argo CD does: with the object as the global
// obj and with the libraries that it opens, of which those for modules, basics and
// tables are the fewest that any release does.
func argo(t *testing.T, kind string) engine {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("argocd", kind, "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	return func(object *unstructured.Unstructured) (verdict, error) {
		state := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer state.Close()
		for name, open := range map[string]lua.LGFunction{
			lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		} {
			call := lua.P{Fn: state.NewFunction(open), NRet: 0, Protect: true}
			if err := state.CallByParam(call, lua.LString(name)); err != nil {
				return "", err
			}
		}
		state.SetGlobal("obj", luaValue(state, object.Object))
		if err := state.DoString(string(script)); err != nil {
			return "", err
		}
		health, ok := state.Get(-1).(*lua.LTable)
		if !ok {
			return "", fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type())
		}
		if message, ok := health.RawGetString("message").(lua.LString); !ok || message == "" {
			return "", fmt.Errorf("no message for people beside %v", health.RawGetString("status"))
		}
		known := map[lua.LValue]verdict{
			lua.LString("Progressing"): waiting, lua.LString("Healthy"): passed, lua.LString("Degraded"): failed,
		}
		v, ok := known[health.RawGetString("status")]
		if !ok {
			return "", fmt.Errorf("Argo CD knows no health %v", health.RawGetString("status"))
		}
		return v, nil
	}
}

// luaValue is a value of an object in Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := state.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(v))
		for key, item := range v {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	default:
		panic(fmt.Sprintf("an object holds a %T", value))
	}
}

// checks are the health expressions of the Kustomization.
func checks(t *testing.T) []kustomize.CustomHealthCheck {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("flux", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	return kustomization.Spec.HealthCheckExprs
}

// flux reads the status of objects by the expressions, with Flux's own reader. An
// expression that fails gives Unknown, and Flux waits on.
func flux(t *testing.T) engine {
	t.Helper()
	newReader, err := fluxcel.NewStatusReader(checks(t))
	if err != nil {
		t.Fatal(err)
	}
	reader := newReader(nil)
	return func(object *unstructured.Unstructured) (verdict, error) {
		read, err := reader.ReadStatusForObject(context.Background(), nil, object)
		if err != nil {
			return "", err
		}
		return ofKstatus(read.Status)
	}
}

// ofKstatus is the verdict of the tools that read kstatus.
func ofKstatus(read status.Status) (verdict, error) {
	switch read {
	case status.CurrentStatus:
		return passed, nil
	case status.FailedStatus:
		return failed, nil
	case status.InProgressStatus, status.UnknownStatus, status.TerminatingStatus:
		return waiting, nil
	default:
		return "", fmt.Errorf("status %s", read)
	}
}
