package cli

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/assay-dev/assay/core/publish"
)

func TestExplainAnInterruption(t *testing.T) {
	unknown := &publish.UnknownError{What: "whether version \"v2\" is active", Err: errors.New("no answer\n::stop")}
	for _, row := range []struct {
		why    string
		err    error
		signal os.Signal
		want   string
	}{
		{"nothing is left open", context.Canceled, os.Interrupt, "interrupted"},
		{"an outcome is", errors.Join(context.Canceled, unknown), os.Interrupt, `interrupted: whether version "v2" is active is not known: no answer; ::stop`},
		{"without a signal all is told", errors.Join(errors.New("too late"), unknown), nil, `too late; whether version "v2" is active is not known: no answer; ::stop`},
		{"a second signal says so itself", errLeft, os.Interrupt, errLeft.Error()},
	} {
		if got := new(publisher).explain(row.err, row.signal); got == nil || got.Error() != row.want {
			t.Errorf("%s: %v, want %q", row.why, got, row.want)
		}
	}
}
