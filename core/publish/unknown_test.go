package publish_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
	"github.com/assay-dev/assay/fakes/world"
)

func TestWhatIsNotKnownIsTold(t *testing.T) {
	gone := &core.Failure{Class: core.FailureForbidden, Op: "look", Status: 403}
	for _, row := range []struct {
		why  string
		call func(f *fixture) error
		what string
	}{
		{
			why: "a version may have been made", what: `whether version "3f2c1ab" was made`,
			call: func(f *fixture) error {
				f.coder.create = []createFunc{func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
					f.coder.blind = gone
					f.cancel()
					return core.PublishedVersion{}, errLost
				}}
				_, err := f.push(asked(nil))
				return err
			},
		},
		{
			why: "a version may be active", what: `whether version "v2" is active`,
			call: func(f *fixture) error {
				v2 := f.add("v2")
				f.coder.promote = []func(func() error) error{func(func() error) error {
					f.coder.blind = gone
					f.cancel()
					return errLost
				}}
				_, err := f.promote(v2.ID, uuid.Nil)
				return err
			},
		},
		{
			why: "an import may go on", what: `whether the import of version "3f2c1ab" goes on`,
			call: func(f *fixture) error {
				f.After(1200*time.Millisecond, func() { f.coder.blind = gone; f.cancel() })
				_, err := f.push(asked(nil))
				return err
			},
		},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, f *fixture) {
				f.PlanVersions(func(string, []byte) world.VersionSpec {
					return world.VersionSpec{Import: world.ImportPlan{Run: time.Hour}}
				})
				err := row.call(f)
				var unknown *publish.UnknownError
				if !errors.As(err, &unknown) || unknown.What != row.what || !errors.Is(err, gone) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
