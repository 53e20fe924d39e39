package operator

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

// door is a Coder deployment as far as its users and tokens go. What a test changes in
// between is what happens to a real one.
type door struct {
	clock *clock.Clock
	// users are the passwords by e-mail address.
	users map[string]core.Secret
	// ends is when each token ends; a token that is not there is not taken.
	ends map[string]time.Time
	// sessions are the tokens that Coder keeps alive while they are used.
	sessions map[string]bool
	lifetime time.Duration
	denied   []string
	// fails has the named call end with an error.
	fails map[string]error
	// made counts the tokens.
	made int
}

func newDoor(c *clock.Clock) *door {
	return &door{
		clock: c, users: map[string]core.Secret{}, ends: map[string]time.Time{}, sessions: map[string]bool{},
		lifetime: tokenLifetime, fails: map[string]error{},
	}
}

func (d *door) dial(connection core.Connection) (ports.OperatorAccess, error) {
	if connection.URL == "bad" {
		return nil, errors.New("no URL")
	}
	return &visitor{d, connection.Token.Reveal()}, nil
}

// visitor is somebody with a token at the door.
type visitor struct {
	*door
	token string
}

func (v *visitor) known() error {
	if end, ok := v.ends[v.token]; !ok || !v.clock.Now().Before(end) {
		return &core.Failure{Class: core.FailureUnauthorized, Op: "read operator user", Status: 401}
	}
	return nil
}

func (v *visitor) Access(context.Context, uuid.UUID) (core.Access, error) {
	if err := v.fails["access"]; err != nil {
		return core.Access{}, err
	}
	if err := v.known(); err != nil {
		return core.Access{}, err
	}
	return core.Access{
		User: core.User{Username: "root"}, ExpiresAt: v.ends[v.token], Lifetime: v.lifetime, Refreshes: v.sessions[v.token], Denied: v.denied,
	}, nil
}

func (v *visitor) NewToken(_ context.Context, _ string, lifetime time.Duration) (core.Secret, error) {
	if err := errors.Join(v.fails["token"], v.known()); err != nil {
		return core.Secret{}, err
	}
	return core.NewSecret(v.mint(min(lifetime, v.lifetime))), nil
}

func (d *door) mint(lifetime time.Duration) string {
	d.made++
	token := "token-" + string(rune('0'+d.made))
	d.ends[token] = d.clock.Now().Add(lifetime)
	return token
}

func (v *visitor) HasUsers(context.Context) (bool, error) { return len(v.users) > 0, v.fails["users"] }

func (v *visitor) CreateFirstUser(_ context.Context, user core.FirstUser) error {
	if len(v.users) > 0 {
		return &core.Failure{Class: core.FailureConflict, Op: "make the first user", Status: 409}
	}
	v.users[user.Email] = user.Password
	return v.fails["create"]
}

func (v *visitor) LogIn(_ context.Context, user core.FirstUser) (core.Secret, error) {
	if password, ok := v.users[user.Email]; !ok || password != user.Password {
		return core.Secret{}, &core.Failure{Class: core.FailureUnauthorized, Op: "log in", Status: 401}
	}
	token := v.mint(24 * time.Hour)
	v.sessions[token] = true
	return core.NewSecret(token), v.fails["login"]
}

// accessStage is an access keeper with its surroundings.
type accessStage struct {
	t      *testing.T
	clock  *clock.Clock
	door   *door
	client client.Client
	keeper *accessKeeper
	plane  *v1alpha1.CoderControlPlane
}

// newAccessStage has a managed control plane; broken makes the cluster's client fail.
func newAccessStage(t *testing.T, broken interceptor.Funcs) *accessStage {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	s := &accessStage{t: t, clock: clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	s.door = newDoor(s.clock)
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(broken).Build()
	s.keeper = &accessKeeper{
		dial: s.door.dial, planes: kubernetes.NewControlPlanes(s.client, s.client, s.clock),
		secrets: kubernetes.NewOperatorSecrets(s.client, s.client), clock: s.clock, random: rand.NewChaCha8([32]byte{}),
	}
	s.plane = &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "coder", UID: "plane"}}
	return s
}

func (s *accessStage) external(key string) {
	s.plane.Spec.External = &v1alpha1.ExternalControlPlane{URL: "https://coder.example.com"}
	s.plane.Spec.OperatorAccess.TokenSecretRef = &v1alpha1.SecretKeyReference{Name: "brought", Key: key}
}

func (s *accessStage) put(name string, data map[string]string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	if err := s.client.Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
}

func (s *accessStage) stored() corev1.Secret {
	s.t.Helper()
	var secret corev1.Secret
	if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: "team", Name: "coder-operator-token"}, &secret); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// look looks and compares.
func (s *accessStage) look(why string, state accessState, message string) accessSeen {
	s.t.Helper()
	seen, err := s.keeper.look(s.t.Context(), s.plane, core.Connection{URL: "https://coder"})
	if err != nil || seen.state != state || !strings.Contains(seen.message, message) {
		s.t.Fatalf("%s: %+v, error %v; want state %d, %q", why, seen, err, state, message)
	}
	return seen
}

var unavailableFailure = &core.Failure{Class: core.FailureUnavailable, Op: "read", Message: "connection refused"}

func TestFirstUserAndItsToken(t *testing.T) {
	s := newAccessStage(t, interceptor.Funcs{})
	seen := s.look("an empty deployment gets its first user", accessReady, `the operator is user "root"`)
	if seen.secret == nil || seen.secret.Name != "coder-operator-token" {
		t.Errorf("the token is in %+v", seen.secret)
	}
	first := s.stored()
	if got := first.OwnerReferences; len(got) != 1 || got[0].UID != "plane" || string(first.Data["token"]) != "token-2" {
		t.Errorf("the Secret is owned by %v and holds %d keys", got, len(first.Data))
	}
	if len(s.door.users) != 1 || s.door.users[string(first.Data["email"])].Reveal() != string(first.Data["password"]) {
		t.Error("the Secret does not hold the user that was made")
	}
	if want := s.clock.Now().Add(20 * 24 * time.Hour); !seen.lookAgain.Equal(want) {
		t.Errorf("renewal is at %s, want %s", seen.lookAgain, want)
	}
	s.look("nothing more is made", accessReady, "")
	if s.door.made != 2 {
		t.Errorf("%d tokens and sessions were made, want 2", s.door.made)
	}

	s.clock.Advance(20 * 24 * time.Hour)
	s.look("a third of its time is left: it is renewed", accessReady, "")
	if got := string(s.stored().Data["token"]); got != "token-3" {
		t.Errorf("the token is %q, want a new one", got)
	}

	delete(s.door.ends, "token-3")
	s.look("somebody revoked it: the user logs in for another", accessReady, "")
	if got := string(s.stored().Data["token"]); got != "token-5" {
		t.Errorf("the token is %q, want a new one", got)
	}

	delete(s.door.ends, "token-5")
	clear(s.door.users)
	s.door.users["somebody@example.com"] = core.NewSecret("else")
	s.look("the database was replaced", accessBlocked, "set operatorAccess.tokenSecretRef")
}

// TestFirstUserAfterACrash takes up what an operator left behind.
func TestFirstUserAfterACrash(t *testing.T) {
	for _, row := range []struct {
		why   string
		crash func(s *accessStage)
	}{
		{"before the user was made", func(s *accessStage) { s.door.fails["create"] = unavailableFailure }},
		{"before the login", func(s *accessStage) { s.door.fails["login"] = unavailableFailure }},
		{"before the token was made", func(s *accessStage) { s.door.fails["token"] = unavailableFailure }},
	} {
		s := newAccessStage(t, interceptor.Funcs{})
		row.crash(s)
		s.look(row.why, accessUnknown, "connection refused")
		clear(s.door.fails)
		s.look(row.why, accessReady, "")
		if len(s.door.users) != 1 {
			t.Errorf("%s: %d users", row.why, len(s.door.users))
		}
	}
}

func TestAccessThatPeopleGive(t *testing.T) {
	for _, row := range []struct {
		why     string
		given   func(s *accessStage)
		state   accessState
		message string
	}{
		{"an external deployment needs a token", func(s *accessStage) {
			s.external("")
			s.plane.Spec.OperatorAccess.TokenSecretRef = nil
		}, accessBlocked, "set operatorAccess.tokenSecretRef"},
		{"the Secret is still to come", func(s *accessStage) { s.external("token") }, accessMissing, `the Secret "brought" does not exist`},
		{"a typing mistake", func(s *accessStage) {
			s.external("other")
			s.put("brought", map[string]string{"token": "x"})
		}, accessMissing, `has no key "other"`},
		{"a token that Coder does not take", func(s *accessStage) {
			s.external("")
			s.put("brought", map[string]string{"token": "wrong"})
		}, accessMissing, "put a new token into the Secret"},
		{"Coder is away", func(s *accessStage) {
			s.external("")
			s.put("brought", map[string]string{"token": s.door.mint(tokenLifetime)})
			s.door.fails["access"] = unavailableFailure
		}, accessUnknown, "connection refused"},
		{"a user with too few rights", func(s *accessStage) {
			s.external("")
			s.put("brought", map[string]string{"token": s.door.mint(tokenLifetime)})
			s.door.denied = []string{"create", "delete"}
		}, accessMissing, "may not create, delete workspaces"},
		{"a good one, with a line break at its end", func(s *accessStage) {
			s.external("")
			s.put("brought", map[string]string{"token": s.door.mint(tokenLifetime) + "\n"})
		}, accessReady, `the operator is user "root"`},
		{"one that ends soon is still good", func(s *accessStage) {
			s.external("")
			s.put("brought", map[string]string{"token": s.door.mint(6 * 24 * time.Hour)})
		}, accessReady, "renew the token, it ends at 2026-03-07T12:00:00Z"},
		{"a session that Coder keeps alive does not end", func(s *accessStage) {
			s.external("")
			s.put("brought", map[string]string{"token": s.door.mint(time.Hour)})
			s.door.sessions["token-1"] = true
		}, accessReady, `the operator is user "root"`},
		{"a managed deployment with users and no token", func(s *accessStage) {
			s.door.users["somebody@example.com"] = core.NewSecret("else")
		}, accessBlocked, "the deployment has users, and none is the operator's"},
		{"a managed deployment that is not up yet", func(s *accessStage) { s.door.fails["users"] = unavailableFailure }, accessUnknown, "connection refused"},
		{"a Secret of somebody else under the name", func(s *accessStage) {
			s.put("coder-operator-token", map[string]string{"token": "theirs"})
		}, accessBlocked, `secret "coder-operator-token" exists and is not this control plane's`},
	} {
		s := newAccessStage(t, interceptor.Funcs{})
		row.given(s)
		made := s.door.made
		s.look(row.why, row.state, row.message)
		if s.door.made != made || row.state != accessReady && len(s.door.users) > 1 {
			t.Errorf("%s: something was made in Coder", row.why)
		}
	}
}

func TestTokenThatCannotBeRenewedYetWorksOn(t *testing.T) {
	s := newAccessStage(t, interceptor.Funcs{})
	s.look("the first user", accessReady, "")
	s.clock.Advance(25 * 24 * time.Hour)
	s.door.fails["token"] = unavailableFailure
	seen := s.look("its renewal fails", accessReady, "")
	if !seen.lookAgain.IsZero() {
		t.Error("a renewal that is due is no time in the future")
	}
}

// TestAccessWithAFailingCluster names the object and loses nothing.
func TestAccessWithAFailingCluster(t *testing.T) {
	broken := errors.New("the API server is away")
	for _, row := range []struct {
		why, want string
		funcs     interceptor.Funcs
	}{
		{"reading", "read secret coder-operator-token", interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return broken
			},
		}},
		{"creating", "create secret coder-operator-token", interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return broken },
		}},
		{"storing the token", "store the token in secret coder-operator-token", interceptor.Funcs{
			Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return broken },
		}},
	} {
		s := newAccessStage(t, row.funcs)
		_, err := s.keeper.look(t.Context(), s.plane, core.Connection{URL: "https://coder"})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s ends with %v, want %q", row.why, err, row.want)
		}
		if row.why == "creating" && len(s.door.users) > 0 {
			t.Error("a user was made whose password is nowhere")
		}
		if err != nil && strings.Contains(err.Error(), "token-") {
			t.Errorf("the error holds a token: %v", err)
		}
	}
}
