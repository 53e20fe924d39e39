package kubernetes

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// ControlPlanes finds control planes as CoderControlPlane objects, with their tokens in
// Secrets.
type ControlPlanes struct {
	cached, live client.Reader
}

var _ ports.ControlPlanes = (*ControlPlanes)(nil)

// NewControlPlanes makes the finder. cached may answer from a cache, live never does.
// Secrets are always read live: a cache would keep every Secret of the cluster in memory,
// and take the right to list them.
func NewControlPlanes(cached, live client.Reader) *ControlPlanes {
	return &ControlPlanes{cached: cached, live: live}
}

// ControlPlane implements ports.ControlPlanes. A cached read that finds none says gone too:
// the engine reads live before it believes that.
func (c *ControlPlanes) ControlPlane(ctx context.Context, ref string, fresh ports.Freshness) (core.ControlPlane, error) {
	key, err := parseKey(ref)
	if err != nil {
		return core.ControlPlane{}, fmt.Errorf("control plane: %w", err)
	}
	reader := c.cached
	if fresh == ports.Live {
		reader = c.live
	}
	plane := core.ControlPlane{Ref: ref}
	object := &v1alpha1.CoderControlPlane{}
	err = reader.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		plane.State, plane.Message = core.ControlPlaneGone, fmt.Sprintf("create the CoderControlPlane %q: it does not exist", key.Name)
		return plane, nil
	case err != nil:
		return core.ControlPlane{}, fmt.Errorf("read control plane %s: %w", ref, err)
	}
	return c.read(ctx, key, object)
}

// read completes a control plane that exists.
func (c *ControlPlanes) read(ctx context.Context, key types.NamespacedName, object *v1alpha1.CoderControlPlane) (core.ControlPlane, error) {
	plane := core.ControlPlane{
		Ref: Reference(key.Namespace, key.Name), Policy: core.Policy(object.Spec.TemplateTests),
		Connection: core.Connection{URL: object.Status.URL},
	}
	if object.DeletionTimestamp != nil {
		plane.State, plane.Message = core.ControlPlaneGone, fmt.Sprintf("the CoderControlPlane %q is being deleted", key.Name)
		return plane, nil
	}
	if external := object.Spec.External; external != nil {
		plane.Connection.URL, plane.Connection.ServerName = external.URL, external.ServerName
		if external.CASecretRef != nil {
			authorities, problem, err := c.secret(ctx, key.Namespace, *external.CASecretRef)
			if err != nil {
				return core.ControlPlane{}, err
			}
			if problem != "" {
				plane.Message = "external.caSecretRef: " + problem
				return plane, nil
			}
			plane.Connection.CACertificates = authorities
		}
	}
	if plane.Connection.URL == "" {
		plane.Message = fmt.Sprintf("the CoderControlPlane %q has no URL yet", key.Name)
		return plane, nil
	}
	return c.withToken(ctx, plane, key.Namespace, object)
}

func (c *ControlPlanes) withToken(
	ctx context.Context, plane core.ControlPlane, namespace string, object *v1alpha1.CoderControlPlane,
) (core.ControlPlane, error) {
	ref := object.Spec.OperatorAccess.TokenSecretRef
	if ref == nil {
		ref = object.Status.OperatorTokenSecretRef
	}
	plane.State = core.ControlPlaneNoAccess
	if ref == nil {
		plane.Message = "set operatorAccess.tokenSecretRef: the control plane has no token for the operator"
		return plane, nil
	}
	token, problem, err := c.secret(ctx, namespace, *ref)
	if err != nil {
		return core.ControlPlane{}, err
	}
	if problem != "" {
		plane.Message = "operatorAccess.tokenSecretRef: " + problem
		return plane, nil
	}
	plane.State, plane.Connection.Token = core.ControlPlaneUsable, core.NewSecret(token)
	return plane, nil
}

// secret reads one key of a Secret. problem says what is wrong with it, for people.
func (c *ControlPlanes) secret(ctx context.Context, namespace string, ref v1alpha1.SecretKeyReference) (value, problem string, err error) {
	key := ref.Key
	if key == "" {
		key = "token"
	}
	var secret corev1.Secret
	err = c.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("the Secret %q does not exist", ref.Name), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read secret %s/%s: %w", namespace, ref.Name, err)
	}
	content, ok := secret.Data[key]
	value = strings.TrimSpace(string(content))
	switch {
	case !ok:
		return "", fmt.Sprintf("the Secret %q has no key %q", ref.Name, key), nil
	case value == "":
		return "", fmt.Sprintf("the key %q of the Secret %q is empty", key, ref.Name), nil
	}
	return value, "", nil
}
