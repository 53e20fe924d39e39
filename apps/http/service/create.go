package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// MaxTestName bounds the name of a test, in characters.
const MaxTestName = 100

// NewTest is a test that a caller asks for.
type NewTest struct {
	// Name is what people call it; empty for none.
	Name string
	Spec core.Spec
	// Retain keeps the workspace of a failed test, where the control plane allows it.
	Retain bool
}

// keyPattern is the rule for idempotency keys.
var keyPattern = regexp.MustCompile(`^[!-~]{1,128}$`)

// Create stores a new test and has this server run it. With a key that the caller used
// before for the same request it returns the test of then, and created is false.
func (s *Service) Create(ctx context.Context, asked NewTest, key string) (test Test, created bool, err error) {
	record, err := s.newRecord(ctx, asked, key)
	if err != nil {
		return Test{}, false, err
	}
	// The lease comes before the record, so that no other server can come between.
	id := record.ID
	if err := s.Runner.Take(ctx, id); err != nil {
		return Test{}, false, err
	}
	record, created, err = s.store(ctx, record, asked, key)
	if err == nil && created {
		s.Runner.Drive(id)
		return newTest(&record), true, nil
	}
	// An error can mean that the record is stored all the same: then whoever looks for tests
	// that nobody runs finds it, for which the lease must go.
	s.Runner.Drop(context.WithoutCancel(ctx), id)
	if errors.Is(err, ports.ErrKeyReused) {
		err = &Error{
			Kind: Conflict, Cause: err,
			Message: "the Idempotency-Key was used for another request within the last 24 hours; choose a new one for a new test",
		}
	}
	if err != nil {
		return Test{}, false, err
	}
	return newTest(&record), false, nil
}

func (s *Service) store(ctx context.Context, record core.Record, asked NewTest, key string) (stored core.Record, created bool, err error) {
	if key == "" {
		stored, err = s.Store.Create(ctx, record)
		return stored, err == nil, err
	}
	return s.Store.CreateOnce(ctx, record, ports.IdempotencyKey{
		Caller: access.CallerOf(ctx).Name, Key: key, Fingerprint: fingerprint(asked),
	}, KeyTime)
}

// newRecord checks what is asked for and makes a record of it.
func (s *Service) newRecord(ctx context.Context, asked NewTest, key string) (core.Record, error) {
	spec := asked.Spec.WithDefaults()
	if spec.ControlPlaneRef == "" {
		spec.ControlPlaneRef = s.onlyPlane(ctx)
	}
	if err := spec.Validate(); err != nil {
		return core.Record{}, invalid(err)
	}
	if !utf8.ValidString(asked.Name) || utf8.RuneCountInString(asked.Name) > MaxTestName || core.PrintableLine(asked.Name) != asked.Name {
		return core.Record{}, badField("name", fmt.Sprintf("must be one printable line of at most %d characters", MaxTestName))
	}
	if key != "" && !keyPattern.MatchString(key) {
		return core.Record{}, badField("Idempotency-Key", "must be 1 to 128 printable ASCII characters without spaces")
	}
	if err := s.mayTestOn(ctx, spec.ControlPlaneRef); err != nil {
		return core.Record{}, err
	}
	plane, err := s.Planes.ControlPlane(ctx, spec.ControlPlaneRef, ports.Live)
	if err != nil {
		return core.Record{}, err
	}
	if plane.State == core.ControlPlaneGone || plane.State == core.ControlPlaneLeaving {
		return core.Record{}, &Error{
			Kind:    Conflict,
			Message: fmt.Sprintf("control plane %q is being removed: no test is begun on it any more", spec.ControlPlaneRef),
		}
	}
	if asked.Retain && !plane.Policy.AllowRetain {
		return core.Record{}, badField("retain", fmt.Sprintf("control plane %q does not allow it: allowRetain is not set there", spec.ControlPlaneRef))
	}
	id, err := uuid.NewRandomFromReader(s.Random)
	if err != nil {
		return core.Record{}, fmt.Errorf("make an ID: %w", err)
	}
	policy := core.DeletionPolicyDelete
	if asked.Retain {
		policy = core.DeletionPolicyRetain
	}
	return core.Record{
		ID: id, Name: asked.Name, Generation: 1, CreatedAt: s.Clock.Now().UTC().Truncate(time.Millisecond),
		Spec: spec, DeletionPolicy: string(policy),
	}, nil
}

// onlyPlane is the control plane of a server on which the caller sees one alone: it need
// not be named there.
func (s *Service) onlyPlane(ctx context.Context) string {
	caller, only := access.CallerOf(ctx), ""
	for _, name := range s.Planes.Names() {
		switch {
		case !caller.May(access.Viewer, name):
		case only != "":
			return ""
		default:
			only = name
		}
	}
	return only
}

// mayTestOn refuses a caller who may not test there, and a control plane that is not
// configured.
func (s *Service) mayTestOn(ctx context.Context, plane string) error {
	caller := access.CallerOf(ctx)
	if !s.knows(plane) || !caller.May(access.Viewer, plane) {
		return badField("controlPlaneRef", fmt.Sprintf("there is no control plane %q that you may see; GET /api/v1/control-planes lists them", plane))
	}
	if !caller.May(access.Tester, plane) {
		return forbidden(access.Tester, plane)
	}
	return nil
}

// fingerprint tells two requests of the same key apart.
func fingerprint(asked NewTest) string {
	// A value of these types can always be encoded.
	text, _ := json.Marshal(asked)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
