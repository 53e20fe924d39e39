package managed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// FieldManager is who writes the objects.
const FieldManager = "assay-operator"

// ErrRefused is wrapped by errors of [Deployer.Apply] that last until people change
// something, as the error says: a name that is taken, or a spec that the API server refuses.
var ErrRefused = errors.New("refused")

// Deployer makes the cluster have what a managed control plane asks for.
type Deployer struct{ client client.Client }

// New makes a deployer that reads the metadata of objects and applies them through c. Reads
// may be cached by a cache that holds all objects: one that selects them would hide those
// of others, which then are not refused but taken over.
func New(c client.Client) *Deployer { return &Deployer{client: c} }

// Apply makes the objects of a control plane be as its spec says, and reports how they are.
// It can be called again at any time, and writes nothing where nothing differs. An object
// that exists and is not the control plane's is refused before anything is changed.
func (d *Deployer) Apply(ctx context.Context, plane *v1alpha1.CoderControlPlane) (State, error) {
	if problems := validation.IsDNS1035Label(plane.Name); len(problems) > 0 {
		return State{}, fmt.Errorf("%w: metadata.name: it names the Service too, make a control plane with another one: %s",
			ErrRefused, strings.Join(problems, "; "))
	}
	wanted := objects(plane)
	for _, object := range wanted {
		if err := d.claim(ctx, plane, object); err != nil {
			return State{}, err
		}
	}
	var applied *unstructured.Unstructured
	for _, object := range wanted {
		var err error
		if applied, err = d.apply(ctx, object); err != nil {
			return State{}, err
		}
	}
	// The Deployment is the last one.
	return stateOf(applied)
}

// claim refuses an object that exists and is not the control plane's. One that this
// manager applied and that nobody controls is taken back: it lost its owner.
func (d *Deployer) claim(ctx context.Context, plane *v1alpha1.CoderControlPlane, object client.Object) error {
	found, err := d.find(ctx, object)
	if err != nil || found == nil || metav1.IsControlledBy(found, plane) {
		return err
	}
	owner := "is not this control plane's"
	switch other := metav1.GetControllerOf(found); {
	case other == nil && slices.ContainsFunc(found.ManagedFields, ours):
		return nil
	case other == nil:
	case other.APIVersion == v1alpha1.GroupVersion.String() && other.Name == plane.Name:
		owner = "belongs to an earlier control plane of this name"
	default:
		owner = fmt.Sprintf("belongs to the %s %q", other.Kind, other.Name)
	}
	return fmt.Errorf("%w: the %s exists and %s: delete it, or give the control plane another name", ErrRefused, name(object), owner)
}

// ours tells what was applied by this manager from what others wrote.
func ours(fields metav1.ManagedFieldsEntry) bool {
	return fields.Manager == FieldManager && fields.Operation == metav1.ManagedFieldsOperationApply
}

// find reads the metadata of an object; nil if it does not exist.
func (d *Deployer) find(ctx context.Context, object client.Object) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := d.client.Get(ctx, client.ObjectKeyFromObject(object), found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name(object), err)
	}
	return found, nil
}

// apply takes fields over from whoever set them last, and only those that it names.
func (d *Deployer) apply(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	fields, err := fieldsOf(object)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", name(object), err)
	}
	err = d.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(fields), client.FieldOwner(FieldManager), client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", name(object), err)
	}
	return fields, nil
}

// fieldsOf leaves out what a Go value has without being set: an applied field is one that
// the manager owns.
func fieldsOf(object client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	for _, path := range [][]string{
		{"metadata", "creationTimestamp"},
		{"status"},
		{"spec", "strategy"},
		{"spec", "template", "metadata", "creationTimestamp"},
	} {
		unstructured.RemoveNestedField(fields, path...)
	}
	containers, _, _ := unstructured.NestedSlice(fields, "spec", "template", "spec", "containers")
	for _, container := range containers {
		if c, ok := container.(map[string]any); ok {
			if resources, ok := c["resources"].(map[string]any); ok && len(resources) == 0 {
				delete(c, "resources")
			}
		}
	}
	if len(containers) > 0 {
		if err := unstructured.SetNestedSlice(fields, containers, "spec", "template", "spec", "containers"); err != nil {
			return nil, err
		}
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// Remove deletes the objects of a control plane that is managed no more, pods first. An
// object of the same name that is not the control plane's stays.
func (d *Deployer) Remove(ctx context.Context, plane *v1alpha1.CoderControlPlane) error {
	for _, object := range slices.Backward(objects(plane)) {
		found, err := d.find(ctx, object)
		if err != nil {
			return err
		}
		if found == nil || !metav1.IsControlledBy(found, plane) {
			continue
		}
		uid := found.GetUID()
		err = d.client.Delete(ctx, found, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s: %w", name(object), err)
		}
	}
	return nil
}

// name is what an object is called in errors.
func name(object client.Object) string {
	return fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())
}
