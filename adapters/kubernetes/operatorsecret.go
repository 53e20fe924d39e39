package kubernetes

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
)

// The keys of the Secret in which the operator keeps what it made for a control plane.
const (
	usernameKey = "username"
	emailKey    = "email"
	passwordKey = "password"
)

// ErrForeignSecret tells that the Secret that the operator would keep a token in exists and
// belongs to somebody else.
var ErrForeignSecret = errors.New("exists and is not this control plane's")

// OperatorSecrets keeps the users and tokens that the operator made, one Secret for each
// control plane, which owns it.
type OperatorSecrets struct {
	client client.Client
	live   client.Reader
}

// NewOperatorSecrets writes by c and reads by live, which must not be cached.
func NewOperatorSecrets(c client.Client, live client.Reader) *OperatorSecrets {
	return &OperatorSecrets{client: c, live: live}
}

// OperatorSecret is one of them. The user is stored before it is made in Coder, and the
// token once it is made.
type OperatorSecret struct {
	User  core.FirstUser
	Token core.Secret

	object corev1.Secret
}

// OperatorTokenSecret is where the token that the operator makes for a control plane is.
func OperatorTokenSecret(plane *v1alpha1.CoderControlPlane) *v1alpha1.SecretKeyReference {
	return &v1alpha1.SecretKeyReference{Name: plane.Name + "-operator-token", Key: v1alpha1.DefaultTokenKey}
}

// Load reads the Secret of a control plane; nil when there is none. ErrForeignSecret: there
// is one that is somebody else's.
func (s *OperatorSecrets) Load(ctx context.Context, plane *v1alpha1.CoderControlPlane) (*OperatorSecret, error) {
	name := OperatorTokenSecret(plane).Name
	loaded := &OperatorSecret{}
	err := s.live.Get(ctx, client.ObjectKey{Namespace: plane.Namespace, Name: name}, &loaded.object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read secret %s: %w", name, err)
	case !metav1.IsControlledBy(&loaded.object, plane):
		return nil, fmt.Errorf("secret %q %w: delete it, or name it in operatorAccess.tokenSecretRef", name, ErrForeignSecret)
	}
	data := loaded.object.Data
	loaded.User = core.FirstUser{
		Username: string(data[usernameKey]), Email: string(data[emailKey]), Password: core.NewSecret(string(data[passwordKey])),
	}
	loaded.Token = core.NewSecret(trimmed(data[v1alpha1.DefaultTokenKey]))
	return loaded, nil
}

// Create stores a user that is to be made. It fails if there is a Secret already: two
// operators must not make two users.
func (s *OperatorSecrets) Create(ctx context.Context, plane *v1alpha1.CoderControlPlane, user core.FirstUser) (*OperatorSecret, error) {
	created := &OperatorSecret{User: user, object: corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: plane.Namespace, Name: OperatorTokenSecret(plane).Name,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "assay-operator", "app.kubernetes.io/instance": plane.Name},
		},
		Data: map[string][]byte{
			usernameKey: []byte(user.Username), emailKey: []byte(user.Email), passwordKey: []byte(user.Password.Reveal()),
		},
	}}
	// A reference that blocks the owner's deletion would take the right to set its finalizers.
	if err := controllerutil.SetControllerReference(plane, &created.object, s.client.Scheme(), controllerutil.WithBlockOwnerDeletion(false)); err != nil {
		return nil, fmt.Errorf("own secret %s: %w", created.object.Name, err)
	}
	if err := s.client.Create(ctx, &created.object); err != nil {
		return nil, fmt.Errorf("create secret %s: %w", created.object.Name, err)
	}
	return created, nil
}

// SaveToken stores a token beside its user. It fails on a Secret that changed since it was
// loaded.
func (s *OperatorSecrets) SaveToken(ctx context.Context, secret *OperatorSecret, token core.Secret) error {
	changed := secret.object.DeepCopy()
	changed.Data[v1alpha1.DefaultTokenKey] = []byte(token.Reveal())
	if err := s.client.Update(ctx, changed); err != nil {
		return fmt.Errorf("store the token in secret %s: %w", changed.Name, err)
	}
	secret.object, secret.Token = *changed, token
	return nil
}
