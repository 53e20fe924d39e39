package scenario_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// tableRows are the rows of the tables and the numbered rules of
// docs/reference/lifecycle.md that a scenario must show, each under its section.
var tableRows = []string{
	"3 a decision on a stale record is dropped",
	"3 the outcome of a create is a fact",
	"4.2 deletion requested",
	"4.3 hold",
	"4.6 control plane gone",
	"4.6 control plane leaving",
	"4.7 deadline",
	"4.7 inputs deadline",
	"4.10 deadline again",
	"5 trust",
	"5 identity",
	"5 waits",
	"5 waits after 429",
	"5.1 control plane missing",
	"5.1 no usable URL",
	"5.1 no operator access",
	"5.1 401",
	"5.1 another deployment",
	"5.2 owner not configured",
	"5.2 owner missing",
	"5.2 owner not active",
	"5.2 owner with a person's login",
	"5.2 owner with a role",
	"5.2 owner not a member",
	"5.2 organization or template missing",
	"5.2 template deprecated",
	"5.2 version missing",
	"5.2 version of another template",
	"5.2 version archived",
	"5.2 import failed or canceled",
	"5.2 import pending or running",
	"5.2 version pinned",
	"5.2 parameters",
	"5.2 external authentication",
	"5.2 external agent",
	"5.2 name taken",
	"5.3 success",
	"5.3 never sent",
	"5.3 401, 406, 429",
	"5.3 409",
	"5.3 other 4xx",
	"5.3 anything else",
	"5.3 4xx and ours",
	"5.3 4xx and ours deleted",
	"5.3 4xx and a look-alike",
	"5.3 reads after an answer fail",
	"5.3 send window",
	"5.3 a marker found on load is a crash",
	"5.4 live, proven",
	"5.4 live, unproven",
	"5.4 deleted, proven",
	"5.4 deleted, unproven",
	"5.4 none, within the settle window",
	"5.4 none, window over, proof",
	"5.4 none, window over, no proof",
	"5.5 410",
	"5.5 404",
	"5.5 latest build not our start build",
	"5.5 build failed",
	"5.5 build canceled",
	"5.5 no matching provisioner",
	"5.5 no top-level agent",
	"5.5 sub-agents never count",
	"5.5 start_error",
	"5.5 start_timeout",
	"5.5 shutting down or off",
	"5.5 connection timeout",
	"5.5 the first failure wins even behind a waiting agent",
	"5.5 a ready agent that disconnects is waited for",
	"5.6 deleted",
	"5.6 failed or canceled delete build",
	"6.1.0 release",
	"6.1.1 nothing was ever sent",
	"6.1.2 retain",
	"6.1.3 control plane gone",
	"6.1.4 ownership unknown",
	"6.1.5 not connected",
	"6.1.6 no workspace ID yet",
	"6.1.7 delete step",
	"6.2 delete, active",
	"6.2 delete, failed or canceled",
	"6.2 start or stop, pending or running",
	"6.2 start or stop, ended",
	"6.2 canceling",
	"6.2 cancel 412 or 400",
	"6.2 cancel forbidden",
	"7 TTL",
	"7 never expires",
	"8 Passed",
	"8 TemplateFailed",
	"8 Inconclusive",
	"9 I7",
}

// reasons are the values of all constants of type core.Reason, read from the source
// so that a new one cannot be forgotten.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../core/phase.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, value)
		}
		return true
	})
	if len(all) == 0 {
		t.Fatal("core/phase.go has no reasons")
	}
	return all
}
