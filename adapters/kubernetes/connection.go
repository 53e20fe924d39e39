package kubernetes

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
)

// authorityKey is where a Secret of the type kubernetes.io/tls has the certificate of its
// authority, if it has it.
const authorityKey = "ca.crt"

// Connection is how a control plane is reached, without a token. problem says for people
// why it cannot be.
func (c *ControlPlanes) Connection(
	ctx context.Context, plane *v1alpha1.CoderControlPlane,
) (connection core.Connection, problem string, err error) {
	if plane.Spec.External == nil {
		return c.managedConnection(ctx, plane)
	}
	external := plane.Spec.External
	connection = core.Connection{URL: external.URL, ServerName: external.ServerName}
	if inClear(external.URL) {
		return core.Connection{}, "external.url: use https: the operator's token would cross the network unencrypted", nil
	}
	if external.CASecretRef == nil {
		return connection, "", nil
	}
	ref := *external.CASecretRef
	connection.CACertificates, problem, err = c.secret(ctx, plane.Namespace, ref.Name, orDefault(ref.Key))
	if problem != "" {
		return core.Connection{}, "external.caSecretRef: " + problem, nil
	}
	return connection, "", err
}

// managedConnection reaches the Service. Where Coder serves HTTPS, its certificate is
// verified against the name that it is for, and by the authority that came with it, if one did.
func (c *ControlPlanes) managedConnection(
	ctx context.Context, plane *v1alpha1.CoderControlPlane,
) (connection core.Connection, problem string, err error) {
	if plane.Status.URL == "" {
		return connection, fmt.Sprintf("the CoderControlPlane %q has no URL yet", plane.Name), nil
	}
	connection = core.Connection{URL: plane.Status.URL, ServerName: managed.ServerName(plane)}
	if names := plane.Spec.TLS.SecretNames; len(names) > 0 {
		authority, problem, err := c.secret(ctx, plane.Namespace, names[0], authorityKey)
		if err != nil {
			return core.Connection{}, "", err
		}
		if problem == "" {
			connection.CACertificates = authority
		}
	}
	return connection, "", nil
}

// inClear reports whether requests to the URL cross a network unencrypted: those to this
// host and to Services of the cluster, whose network is the cluster's own, do not count.
func inClear(raw string) bool {
	parsed, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(parsed.Scheme, "http") {
		return false
	}
	host := strings.ToLower(parsed.Hostname())
	if address, err := netip.ParseAddr(host); err == nil {
		return !address.Unmap().IsLoopback()
	}
	return host != "localhost" && !strings.HasSuffix(host, ".svc") && !strings.HasSuffix(host, ".svc.cluster.local")
}

// Token reads a token, live. problem says for people why there is none.
func (c *ControlPlanes) Token(ctx context.Context, namespace string, ref v1alpha1.SecretKeyReference) (value, problem string, err error) {
	return c.secret(ctx, namespace, ref.Name, orDefault(ref.Key))
}

// secret reads one key of a Secret. problem says what is wrong with it, for people.
func (c *ControlPlanes) secret(ctx context.Context, namespace, name, key string) (value, problem string, err error) {
	var secret corev1.Secret
	err = c.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("the Secret %q does not exist", name), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read secret %s/%s: %w", namespace, name, err)
	}
	content, ok := secret.Data[key]
	value = trimmed(content)
	switch {
	case !ok:
		return "", fmt.Sprintf("the Secret %q has no key %q", name, key), nil
	case value == "":
		return "", fmt.Sprintf("the key %q of the Secret %q is empty", key, name), nil
	}
	return value, "", nil
}
