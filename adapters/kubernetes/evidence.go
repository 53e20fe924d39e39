package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// ManagedByLabel says who made a Secret with evidence: ManagedBy.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "assay-operator"
	// TestLabel names the test whose evidence a Secret holds, cut to what a label takes.
	TestLabel = "coder.com/template-test"

	evidenceSuffix = "-evidence"
)

// Evidence is an EvidenceSink that keeps the evidence of each failed test in a Secret
// beside it. The Secret belongs to the test and goes with it.
type Evidence struct {
	cached client.Client
	live   client.Reader
	planes ports.ControlPlanes
}

var _ ports.EvidenceSink = (*Evidence)(nil)

// NewEvidence makes a sink. cached and live are those of NewStore; planes have the tokens
// that are masked.
func NewEvidence(cached client.Client, live client.Reader, planes ports.ControlPlanes) *Evidence {
	return &Evidence{cached: cached, live: live, planes: planes}
}

// Evidence implements ports.EvidenceSink. Taking the same evidence again changes nothing.
func (e *Evidence) Evidence(ctx context.Context, evidence core.Evidence) error {
	tests := &Store{cached: e.cached, live: e.live}
	test, err := tests.find(ctx, evidence.TestID)
	if err != nil {
		return fmt.Errorf("find test %s: %w", evidence.TestID, translate(err))
	}
	mask, err := e.mask(ctx, test)
	if err != nil {
		return err
	}
	want := secretFor(test)
	want.Data = evidenceData(evidence, mask, maxEvidence)
	if err := e.put(ctx, want); err != nil {
		return fmt.Errorf("keep the evidence of test %s/%s: %w", test.Namespace, test.Name, err)
	}
	return nil
}

// mask knows the secrets that the template was given. Without the token nothing is kept.
func (e *Evidence) mask(ctx context.Context, test *v1alpha1.CoderTemplateTest) (core.Mask, error) {
	plane, err := e.planes.ControlPlane(ctx, Reference(test.Namespace, test.Spec.ControlPlaneRef.Name), ports.Live)
	if err != nil {
		return core.Mask{}, fmt.Errorf("find the token to mask: %w", err)
	}
	if plane.Connection.Token.Empty() {
		return core.Mask{}, fmt.Errorf("find the token to mask: the control plane %s has none now", plane.Ref)
	}
	secrets := []string{plane.Connection.Token.Reveal()}
	for _, parameter := range test.Spec.Parameters {
		secrets = append(secrets, parameter.Value)
	}
	return core.NewMask(secrets...), nil
}

// put makes the Secret, or changes the one that the same test has.
func (e *Evidence) put(ctx context.Context, want *corev1.Secret) error {
	there := &corev1.Secret{}
	err := e.live.Get(ctx, client.ObjectKeyFromObject(want), there)
	switch {
	case apierrors.IsNotFound(err):
		return e.cached.Create(ctx, want)
	case err != nil:
		return err
	case !ownedBy(there, want.OwnerReferences[0]):
		return fmt.Errorf("the Secret %q belongs to somebody else: rename or delete it", there.Name)
	}
	if reflect.DeepEqual(there.Data, want.Data) {
		return nil
	}
	changed := there.DeepCopy()
	changed.Data = want.Data
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	maps.Copy(changed.Labels, want.Labels)
	return e.cached.Update(ctx, changed)
}

func ownedBy(secret *corev1.Secret, owner metav1.OwnerReference) bool {
	return slices.ContainsFunc(secret.OwnerReferences, func(reference metav1.OwnerReference) bool {
		return reference.UID == owner.UID
	})
}

// secretFor is the test's Secret without its data.
func secretFor(test *v1alpha1.CoderTemplateTest) *corev1.Secret {
	no := false
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: test.Namespace, Name: EvidenceName(test.Name),
			Labels: map[string]string{ManagedByLabel: ManagedBy, TestLabel: cut(test.Name, validation.LabelValueMaxLength)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "CoderTemplateTest", Name: test.Name, UID: test.UID, BlockOwnerDeletion: &no,
			}},
		},
		Type: corev1.SecretTypeOpaque,
	}
}

// EvidenceName is the name of the Secret with a test's evidence: the test's, and
// "-evidence". A long name is cut, and told from others by a hash.
func EvidenceName(test string) string {
	const most = validation.DNS1123SubdomainMaxLength - len(evidenceSuffix)
	if len(test) > most {
		sum := sha256.Sum256([]byte(test))
		hash := hex.EncodeToString(sum[:4])
		test = cut(test, most-len(hash)-1) + "-" + hash
	}
	return test + evidenceSuffix
}

// cut shortens a name so that it ends as a name may end.
func cut(name string, most int) string {
	return strings.TrimRight(name[:min(len(name), most)], "-._")
}
