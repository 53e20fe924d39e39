package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// tokenLifetime is for how long the operator makes its own tokens; a deployment can
	// allow less. One is renewed when a third of its time is left.
	tokenLifetime = 30 * 24 * time.Hour
	// endsSoon is from when on people are told that a token which they brought ends.
	endsSoon = 7 * 24 * time.Hour
)

// accessState says whether the operator gets into Coder.
type accessState int

const (
	// accessUnknown: Coder could not be asked.
	accessUnknown accessState = iota
	accessReady
	// accessMissing: it does not get in. It looks again by itself.
	accessMissing
	// accessBlocked: it does not get in until people change the control plane.
	accessBlocked
)

// accessSeen is what a look at the operator's access found.
type accessSeen struct {
	state   accessState
	message string
	// secret is where the token is that the operator made.
	secret *v1alpha1.SecretKeyReference
	// lookAgain is when the token is to be renewed or looked at; zero for no given time.
	lookAgain time.Time
}

// accessKeeper gets the operator into Coder and keeps it there.
type accessKeeper struct {
	dial    ports.AccessDialer
	planes  *kubernetes.ControlPlanes
	secrets *kubernetes.OperatorSecrets
	clock   ports.Clock
	random  io.Reader
}

// look finds the token, makes one where that is the operator's business, and checks it. An
// error means that the cluster could not be read or written.
func (k *accessKeeper) look(ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection) (accessSeen, error) {
	if ref := plane.Spec.OperatorAccess.TokenSecretRef; ref != nil {
		token, problem, err := k.planes.Token(ctx, plane.Namespace, *ref)
		switch {
		case err != nil:
			return accessSeen{}, err
		case problem != "":
			return accessSeen{state: accessMissing, message: "operatorAccess.tokenSecretRef: " + problem}, nil
		}
		connection.Token = core.NewSecret(token)
		return k.brought(ctx, plane, connection), nil
	}
	if plane.Spec.External != nil {
		return accessSeen{
			state:   accessBlocked,
			message: "set operatorAccess.tokenSecretRef to a Secret with a Coder token: the operator makes users in deployments of its own alone",
		}, nil
	}
	secret, err := k.secrets.Load(ctx, plane)
	switch {
	case errors.Is(err, kubernetes.ErrForeignSecret):
		return accessSeen{state: accessBlocked, message: err.Error()}, nil
	case err != nil:
		return accessSeen{}, err
	case secret == nil:
		return k.begin(ctx, plane, connection)
	case secret.Token.Empty():
		return k.enter(ctx, plane, connection, secret)
	default:
		return k.keep(ctx, plane, connection, secret)
	}
}

// begin stores the first user that an empty deployment is to get, and then makes it: a
// crash in between loses neither its name nor its password.
func (k *accessKeeper) begin(ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection) (accessSeen, error) {
	access, err := k.dial(connection)
	if err != nil {
		return accessSeen{message: "correct the connection: " + err.Error()}, nil
	}
	has, err := access.HasUsers(ctx)
	switch {
	case err != nil:
		return accessSeen{message: err.Error()}, nil
	case has:
		return accessSeen{
			state:   accessBlocked,
			message: "make a token in Coder and set operatorAccess.tokenSecretRef to a Secret with it: the deployment has users, and none is the operator's",
		}, nil
	}
	password, err := k.password()
	if err != nil {
		return accessSeen{}, err
	}
	secret, err := k.secrets.Create(ctx, plane, core.FirstUser{
		Username: "assay-operator", Email: fmt.Sprintf("assay-operator@%s.%s.svc.cluster.local", plane.Name, plane.Namespace), Password: password,
	})
	if err != nil {
		return accessSeen{}, err
	}
	return k.enter(ctx, plane, connection, secret)
}

// enter makes the stored user unless there is one, logs in as it, and makes the token.
func (k *accessKeeper) enter(
	ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection, secret *kubernetes.OperatorSecret,
) (accessSeen, error) {
	connection.Token = core.Secret{}
	access, err := k.dial(connection)
	if err != nil {
		return accessSeen{message: "correct the connection: " + err.Error()}, nil
	}
	has, err := access.HasUsers(ctx)
	if err == nil && !has {
		err = access.CreateFirstUser(ctx, secret.User)
		if classOf(err) == core.FailureConflict {
			err = nil
		}
	}
	if err != nil {
		return accessSeen{message: err.Error()}, nil
	}
	session, err := access.LogIn(ctx, secret.User)
	switch {
	case err != nil && classOf(err) == core.FailureUnauthorized:
		return accessSeen{
			state:   accessBlocked,
			message: fmt.Sprintf("set operatorAccess.tokenSecretRef to a Secret with a token: Coder does not let the user of Secret %q in", kubernetes.OperatorTokenSecret(plane).Name),
		}, nil
	case err != nil:
		return accessSeen{message: err.Error()}, nil
	}
	connection.Token = session
	return k.renew(ctx, plane, connection, secret)
}

// renew makes a token by the one that the connection has, stores it and checks it. The
// earlier one ends by itself: tests can be using it now.
func (k *accessKeeper) renew(
	ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection, secret *kubernetes.OperatorSecret,
) (accessSeen, error) {
	id, err := uuid.NewRandomFromReader(k.random)
	if err != nil {
		return accessSeen{}, fmt.Errorf("name a token: %w", err)
	}
	access, err := k.dial(connection)
	if err != nil {
		return accessSeen{message: "correct the connection: " + err.Error()}, nil
	}
	token, err := access.NewToken(ctx, "assay-operator-"+id.String()[:8], tokenLifetime)
	if err != nil {
		return accessSeen{message: err.Error()}, nil
	}
	if err := k.secrets.SaveToken(ctx, secret, token); err != nil {
		return accessSeen{}, err
	}
	connection.Token = token
	seen := accessSeen{secret: kubernetes.OperatorTokenSecret(plane)}
	got, err := k.ask(ctx, plane, connection)
	if err != nil {
		seen.message = err.Error()
		return seen, nil
	}
	return k.judge(plane, got, seen), nil
}

// keep checks a token that the operator made, renews it in time, and makes another one for
// one that Coder does not take any more.
func (k *accessKeeper) keep(
	ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection, secret *kubernetes.OperatorSecret,
) (accessSeen, error) {
	connection.Token = secret.Token
	seen := accessSeen{secret: kubernetes.OperatorTokenSecret(plane)}
	got, err := k.ask(ctx, plane, connection)
	switch {
	case err != nil && classOf(err) == core.FailureUnauthorized:
		return k.enter(ctx, plane, connection, secret)
	case err != nil:
		seen.message = err.Error()
		return seen, nil
	}
	if renewal := renewAt(got); !renewal.IsZero() && !k.clock.Now().Before(renewal) {
		renewed, err := k.renew(ctx, plane, connection, secret)
		if err != nil || renewed.state != accessUnknown {
			return renewed, err
		}
		// The old token works on: that it could not be renewed can wait.
	}
	return k.judge(plane, got, seen), nil
}

// brought checks a token that people brought, and tells them before it ends.
func (k *accessKeeper) brought(ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection) accessSeen {
	got, err := k.ask(ctx, plane, connection)
	switch {
	case err != nil && classOf(err) == core.FailureUnauthorized:
		return accessSeen{state: accessMissing, message: "put a new token into the Secret: Coder does not take the one that is there (HTTP 401)"}
	case err != nil:
		return accessSeen{message: err.Error()}
	}
	seen := k.judge(plane, got, accessSeen{})
	if got.ExpiresAt.IsZero() || got.Refreshes {
		return seen
	}
	seen.lookAgain = got.ExpiresAt.Add(-endsSoon)
	if !k.clock.Now().Before(seen.lookAgain) {
		seen.lookAgain = got.ExpiresAt
		seen.message = fmt.Sprintf("renew the token, it ends at %s; %s", got.ExpiresAt.Format(time.RFC3339), seen.message)
	}
	return seen
}

// ask asks Coder about the connection's token.
func (k *accessKeeper) ask(ctx context.Context, plane *v1alpha1.CoderControlPlane, connection core.Connection) (core.Access, error) {
	access, err := k.dial(connection)
	if err != nil {
		return core.Access{}, fmt.Errorf("correct the connection: %w", err)
	}
	return access.Access(ctx, owner(plane))
}

// judge says whether a token that Coder takes is good enough for tests.
func (k *accessKeeper) judge(plane *v1alpha1.CoderControlPlane, got core.Access, seen accessSeen) accessSeen {
	if len(got.Denied) > 0 {
		seen.state = accessMissing
		seen.message = fmt.Sprintf(
			"give the operator user %q the site role owner, or let it own the test workspaces itself: it may not %s workspaces of user %s",
			got.User.Username, strings.Join(got.Denied, ", "), owner(plane))
		return seen
	}
	seen.state, seen.message = accessReady, fmt.Sprintf("the operator is user %q", got.User.Username)
	if renewal := renewAt(got); k.clock.Now().Before(renewal) {
		seen.lookAgain = renewal
	}
	return seen
}

// renewAt is when a third of a token's time is left; zero for a token that does not end or
// that Coder keeps alive.
func renewAt(got core.Access) time.Time {
	if got.ExpiresAt.IsZero() || got.Refreshes {
		return time.Time{}
	}
	return got.ExpiresAt.Add(-got.Lifetime / 3)
}

// owner is the user whose workspaces tests are; uuid.Nil when none is set.
func owner(plane *v1alpha1.CoderControlPlane) uuid.UUID {
	return core.Policy(plane.Spec.TemplateTests).Owner()
}

// classOf is the class of a failure of Coder's.
func classOf(err error) core.FailureClass {
	var failure *core.Failure
	if errors.As(err, &failure) {
		return failure.Class
	}
	return core.FailureUnavailable
}

// password draws one that meets Coder's rules of strength.
func (k *accessKeeper) password() (core.Secret, error) {
	random, err := uuid.NewRandomFromReader(k.random)
	if err != nil {
		return core.Secret{}, fmt.Errorf("draw a password: %w", err)
	}
	return core.NewSecret(random.String()), nil
}
