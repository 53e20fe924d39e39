package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func makeNamespace(t *testing.T, client *kubernetes.Clientset) string {
	t.Helper()
	name := UniqueName("ns")
	_, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func makeConfigMap(ctx context.Context, client *kubernetes.Clientset, namespace, name string, owners ...metav1.OwnerReference) (
	*corev1.ConfigMap, error,
) {
	return client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		Data:       map[string]string{"key": "value"},
	}, metav1.CreateOptions{})
}

// awaitGone reads something until it is not found.
func awaitGone(t *testing.T, what string, read func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(importPause)
	defer tick.Stop()
	for {
		err := read(ctx)
		if apierrors.IsNotFound(err) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		<-tick.C
	}
}

func TestKubernetesGrantsByRole(t *testing.T) {
	k := RequireKubernetes(t)
	admin := clientset(t, k.Config())
	namespace := makeNamespace(t, admin)
	if _, err := makeConfigMap(t.Context(), admin, namespace, "first"); err != nil {
		t.Fatal(err)
	}
	group := UniqueName("readers")
	_, err := admin.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason      string
		groups      []string
		mayRead     bool
		mayReadElse bool
	}{
		{"an unprivileged user", nil, false, false},
		{"a member of the group that is bound in the namespace", []string{group}, true, false},
		{"a member of system:masters", []string{adminGroup}, true, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			user := clientset(t, k.User("eve", row.groups...))
			for place, may := range map[string]bool{namespace: row.mayRead, "kube-system": row.mayReadElse} {
				_, err := user.CoreV1().ConfigMaps(place).List(t.Context(), metav1.ListOptions{})
				if may && err != nil || !may && !apierrors.IsForbidden(err) {
					t.Errorf("list in %s: %v, may is %v", place, err, may)
				}
			}
			_, err := makeConfigMap(t.Context(), user, namespace, "second")
			if mayWrite := row.mayReadElse; mayWrite && err != nil || !mayWrite && !apierrors.IsForbidden(err) {
				t.Errorf("create: %v, may is %v", err, mayWrite)
			}
		})
	}
}

func TestKubernetesKnowsServiceAccounts(t *testing.T) {
	k := RequireKubernetes(t)
	admin := clientset(t, k.Config())
	namespace := makeNamespace(t, admin)
	if _, err := admin.CoreV1().ServiceAccounts(namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := k.Kubectl(t.Context(), "create", "token", "robot", "--namespace", namespace)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(k.Config())
	config.BearerToken = strings.TrimSpace(token)
	file := filepath.Join(t.TempDir(), "robot.kubeconfig")
	if err := WriteKubeconfig(file, config); err != nil {
		t.Fatal(err)
	}
	who, err := k.Kubectl(t.Context(), "--kubeconfig", file, "auth", "whoami", "--output", "yaml")
	if want := "system:serviceaccount:" + namespace + ":robot"; err != nil || !strings.Contains(who, want) {
		t.Errorf("got %q, %v; want %s", who, err, want)
	}
}

func TestKubernetesCollectsGarbage(t *testing.T) {
	k := RequireKubernetes(t)
	admin := clientset(t, k.Config())
	namespace := makeNamespace(t, admin)
	configMaps := admin.CoreV1().ConfigMaps(namespace)
	owner, err := makeConfigMap(t.Context(), admin, namespace, "owner")
	if err != nil {
		t.Fatal(err)
	}
	for name, owners := range map[string][]metav1.OwnerReference{
		"owned": {{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
		"free":  nil,
	} {
		if _, err := makeConfigMap(t.Context(), admin, namespace, name, owners...); err != nil {
			t.Fatal(err)
		}
	}
	if err := configMaps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "the owned object", func(ctx context.Context) error {
		_, err := configMaps.Get(ctx, "owned", metav1.GetOptions{})
		return err
	})
	if _, err := configMaps.Get(t.Context(), "free", metav1.GetOptions{}); err != nil {
		t.Errorf("the object without an owner: %v", err)
	}
	if err := admin.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "the namespace", func(ctx context.Context) error {
		_, err := admin.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return err
	})
}

// The API alone keeps what nothing collects.
func TestKubernetesWithoutControllerManager(t *testing.T) {
	skipUnlessE2E(t)
	k, err := StartKubernetes(t.Context(), KubernetesOptions{Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	folder := k.supervisor.Folder()
	admin := clientset(t, k.Config())
	if _, err := makeConfigMap(t.Context(), admin, makeNamespace(t, admin), "first"); err != nil {
		t.Error(err)
	}
	if found := processesOf(t, folder); len(found) != 2 {
		t.Errorf("found %q, want etcd and the API server", found)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	assertNothingLeft(t, folder)
}

func TestKubectl(t *testing.T) {
	k := RequireKubernetes(t)
	version, err := k.Kubectl(t.Context(), "version")
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"Client", "Server"} {
		if want := side + " Version: " + apiServerComponent.version; os.Getenv(apiServerComponent.variable) == "" &&
			os.Getenv(kubectlComponent.variable) == "" && !strings.Contains(version, want) {
			t.Errorf("got %q, want %q in it", version, want)
		}
	}
	if _, err := k.Kubectl(t.Context(), "get", "namespace", "absent"); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("got %v, want what kubectl said", err)
	}
}

func TestKubernetesOutage(t *testing.T) {
	k := RequireOwnKubernetes(t)
	admin := clientset(t, k.Config())
	namespace := makeNamespace(t, admin)
	if err := k.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := makeConfigMap(t.Context(), admin, namespace, "during"); err == nil {
		t.Error("the API answers although it was stopped")
	}
	if err := k.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := makeConfigMap(t.Context(), admin, namespace, "after"); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if err := k.StartAPIServer(t.Context()); err == nil {
		t.Error("the API server was started twice")
	}
}

func TestCloseLeavesNothingOfKubernetes(t *testing.T) {
	k := RequireOwnKubernetes(t)
	folder := k.supervisor.Folder()
	if found := processesOf(t, folder); len(found) < 3 {
		t.Fatalf("found only %q of a running cluster: the check below would prove nothing", found)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	assertNothingLeft(t, folder)
}

func TestKillLeavesNothingOfKubernetes(t *testing.T) {
	skipUnlessE2E(t)
	assertNothingLeft(t, killParent(t, "kubernetes"))
}

func beKubernetesParent() error {
	k, err := StartKubernetes(context.Background(), kubernetesOfTests())
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, k.supervisor.Folder())
	select {}
}
