package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/fakes/faults"
)

// TestManyTestsAskTogether bounds what a hundred tests of one template ask of Coder: what
// they have in common is asked for once.
func TestManyTestsAskTogether(t *testing.T) {
	const tests, latency = 100, 10 * time.Millisecond
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		var suite strings.Builder
		suite.WriteString("tests:\n")
		for n := range tests {
			fmt.Fprintf(&suite, "  - {name: test %d, template: coder.docker, version: v1}\n", n)
		}
		file := filepath.Join(s.dir, "suite.yaml")
		if err := os.WriteFile(file, []byte(suite.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := map[string]int{}
		injector := faults.New(s.clock, func(call faults.Call) faults.Fault {
			asked[call.Op]++
			return faults.Fault{Meanwhile: func() {
				over := make(chan struct{})
				s.clock.AfterFunc(latency, func() { close(over) })
				<-over
			}}
		})
		s.around = injector.Dialer
		s.run("run", "--suite", file, "--parallel", fmt.Sprint(tests)).want(t, 0, "100 passed", "", "all of them pass")
		shared := []string{"read owner", "find template", "find version", "check parameters", "read external auth"}
		for _, op := range shared {
			if asked[op] == 0 || asked[op] > 5 {
				t.Errorf("%q is asked %d times by %d tests, want once or a few times (asked: %v)", op, asked[op], tests, asked)
			}
		}
		total := 0
		for _, n := range asked {
			total += n
		}
		if total > 6*tests {
			t.Errorf("%d requests by %d tests, want 6 or fewer each (asked: %v)", total, tests, asked)
		}
	})
}
