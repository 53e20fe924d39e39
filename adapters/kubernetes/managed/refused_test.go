package managed

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// mine are the objects of a control plane, without anything of the control plane but
// their names.
func mine(plane *v1alpha1.CoderControlPlane, owners ...metav1.OwnerReference) []client.Object {
	all := objects(plane)
	for _, object := range all {
		object.SetOwnerReferences(owners)
		object.SetLabels(nil)
	}
	return all
}

func controller(kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: kind, Name: name, UID: uid, Controller: new(true)}
}

// An object that exists is left alone, and so is everything else: nothing is made either.
func TestForeignObjectsAreRefused(t *testing.T) {
	s := newStage(t)
	for i := range Kinds() {
		for why, row := range map[string]struct {
			owners []metav1.OwnerReference
			want   string
		}{
			"somebody's":  {nil, "is not this control plane's"},
			"a program's": {[]metav1.OwnerReference{controller("Release", "main", "1")}, `belongs to the Release "main"`},
		} {
			plane := s.plane("taken", v1alpha1.CoderControlPlaneSpec{})
			object := mine(plane, row.owners...)[i]
			called := name(object)
			t.Run(why+" "+called, func(t *testing.T) {
				s.create(object)
				before := s.versions(plane)
				if _, ok := object.(*appsv1.Deployment); ok {
					before = s.settled(plane)
				}
				_, err := New(s.operator).Apply(t.Context(), plane)
				if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), called) {
					t.Errorf("error is %v, want a refusal of %s that says %q", err, called, row.want)
				}
				if diff := cmp.Diff(before, s.versions(plane)); diff != "" {
					t.Errorf("something was written:\n%s", diff)
				}
				if err := New(s.operator).Remove(t.Context(), plane); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(before, s.versions(plane)); diff != "" {
					t.Errorf("something was removed:\n%s", diff)
				}
			})
			for _, object := range []client.Object{object, plane} {
				if err := s.admin.Delete(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The garbage collector needs a moment for what an earlier control plane of the name left.
func TestObjectsOfAPredecessorAreRefused(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	earlier := plane.DeepCopy()
	earlier.UID = "1"
	left := interceptor.NewClient(s.operator, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, found client.Object, _ ...client.GetOption) error {
			found.SetOwnerReferences(meta(earlier, "").OwnerReferences)
			return nil
		},
	})
	_, err := New(left).Apply(t.Context(), plane)
	if want := "belongs to an earlier control plane of this name"; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want a refusal that says %q", err, want)
	}
}

// A cache may not have seen yet that somebody controls an object; the API server knows
// that an object has one controller.
func TestForeignObjectsAreRefusedByTheServer(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	object := mine(plane, controller("Release", "main", "1"))[0]
	called := name(object)
	s.create(object)
	before := s.versions(plane)
	stale := interceptor.NewClient(s.operator, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		},
	})
	if _, err := New(stale).Apply(t.Context(), plane); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), called) {
		t.Errorf("error is %v, want a refusal of %s", err, called)
	}
	if diff := cmp.Diff(before, s.versions(plane)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

// What the definition cannot check, the API server says of the object.
func TestBadSpecsAreRefused(t *testing.T) {
	s := newStage(t)
	for _, row := range []struct {
		why, name string
		spec      v1alpha1.CoderControlPlaneSpec
		stored    bool
		want      string
	}{
		{
			"a mount without a volume", "coder",
			v1alpha1.CoderControlPlaneSpec{VolumeMounts: []corev1.VolumeMount{{Name: "absent", MountPath: "/a"}}},
			true, `volumeMounts[0].name: Not found: "absent"`,
		},
		{"a name that is older than the rule for names", "coder.main", v1alpha1.CoderControlPlaneSpec{}, false, "metadata.name: it names the Service too"},
	} {
		t.Run(row.why, func(t *testing.T) {
			plane := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: row.name}, Spec: row.spec}
			if row.stored {
				s.create(plane)
			}
			if _, err := New(s.operator).Apply(t.Context(), plane); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want a refusal that says %q", err, row.want)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	s := newStage(t)
	plane, other := s.plane("coder", v1alpha1.CoderControlPlaneSpec{}), s.plane("other", v1alpha1.CoderControlPlaneSpec{})
	s.apply(plane)
	s.apply(other)
	plane.Spec.External = &v1alpha1.ExternalControlPlane{URL: "https://coder.example.com"}
	// The second time there is nothing to remove.
	for range 2 {
		if err := New(s.operator).Remove(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
		if left := s.live(plane); len(left) > 0 {
			t.Errorf("still there: %v", left)
		}
	}
	if left := s.live(other); len(left) != len(Kinds()) {
		t.Errorf("%d objects of the other control plane are left, want %d", len(left), len(Kinds()))
	}
}

// Each call that fails says which object it was about, and keeps its cause.
func TestFailingClient(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	s.apply(plane)
	cause := errors.New("the network is down")
	for _, object := range objects(plane) {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		fails := func(failing string) error {
			if failing == kind {
				return cause
			}
			return nil
		}
		get := func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return errors.Join(fails(o.GetObjectKind().GroupVersionKind().Kind), c.Get(ctx, key, o, opts...))
		}
		put := func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return errors.Join(fails(o.(interface{ GetKind() string }).GetKind()), c.Apply(ctx, o, opts...))
		}
		remain := func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return nil }
		drop := func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
			return fails(o.GetObjectKind().GroupVersionKind().Kind)
		}
		apply := func(d *Deployer) error { _, err := d.Apply(t.Context(), plane); return err }
		remove := func(d *Deployer) error { return d.Remove(t.Context(), plane) }
		for _, row := range []struct {
			call  string
			funcs interceptor.Funcs
			do    func(*Deployer) error
		}{
			{"read", interceptor.Funcs{Get: get}, apply},
			{"apply", interceptor.Funcs{Apply: put}, apply},
			{"read", interceptor.Funcs{Get: get, Delete: remain}, remove},
			{"delete", interceptor.Funcs{Delete: drop}, remove},
		} {
			err := row.do(New(interceptor.NewClient(s.operator, row.funcs)))
			if want := row.call + " " + name(object); !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error is %v, want the cause after %q", err, want)
			}
			if errors.Is(err, ErrRefused) {
				t.Errorf("%v counts as refused, though trying again may help", err)
			}
		}
	}
}

// Between the read and the delete an object may go, which is what was wanted, or be made
// anew by somebody else, whose it is then.
func TestRemoveRaces(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	for _, row := range []struct {
		why  string
		anew bool
	}{
		{"it goes", false},
		{"it is made anew", true},
	} {
		t.Run(row.why, func(t *testing.T) {
			s.apply(plane)
			others := map[string]types.UID{}
			racing := interceptor.NewClient(s.operator, interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					if err := s.admin.Delete(ctx, o.DeepCopyObject().(client.Object)); err != nil {
						return err
					}
					for _, object := range mine(plane) {
						if row.anew && name(object) == name(o) {
							s.create(object)
							others[name(o)] = object.GetUID()
						}
					}
					return c.Delete(ctx, o, opts...)
				},
			})
			// An attempt that meets somebody else's object fails, and the next one knows it.
			for range len(Kinds()) + 1 {
				err := New(racing).Remove(t.Context(), plane)
				if err == nil {
					break
				}
				if !row.anew || !apierrors.IsConflict(err) {
					t.Fatal(err)
				}
			}
			left := s.live(plane)
			if len(left) != len(others) || row.anew != (len(left) == len(Kinds())) {
				t.Errorf("%d objects are left, %d are somebody else's", len(left), len(others))
			}
			for name, uid := range others {
				if found := left[name]; found == nil || found.UID != uid {
					t.Errorf("somebody else's %s was removed", name)
				}
			}
		})
	}
}

// An object that lost its owner is still the control plane's, or its successor's.
func TestOrphansAreTakenBack(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	s.apply(plane)
	orphan := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
	for name, object := range s.live(plane) {
		if err := s.admin.Patch(t.Context(), object, orphan); err != nil || metav1.IsControlledBy(object, plane) {
			t.Fatalf("%s: %v, owners %v", name, err, object.OwnerReferences)
		}
	}
	s.apply(plane)
	for name, object := range s.live(plane) {
		if !metav1.IsControlledBy(object, plane) {
			t.Errorf("%s has owners %v", name, object.OwnerReferences)
		}
	}
}

// The right to make roles is no right to everything: nobody may grant what they lack.
func TestTheOperatorGrantsNoMoreThanItHas(t *testing.T) {
	s := newStage(t)
	more := role(s.plane("coder", v1alpha1.CoderControlPlaneSpec{}))
	more.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	if err := s.operator.Create(t.Context(), more); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v, want forbidden", err)
	}
}
