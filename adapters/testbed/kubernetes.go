package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// errOtherKubernetes is [ErrNotOurs] for a Kubernetes.
var errOtherKubernetes = fmt.Errorf("stop or start the API server: %w", ErrNotOurs)

// KubernetesOptions say how [StartKubernetes] runs a cluster. The zero value
// is fine.
type KubernetesOptions struct {
	// Log receives lines about slow work; nil drops them.
	Log io.Writer
	// WithControllerManager runs kube-controller-manager too, with the
	// controllers that an API alone is incomplete without: those that collect
	// garbage, empty deleted namespaces, make the default service account of
	// each namespace, add up aggregated cluster roles and make the pods of
	// Deployments.
	WithControllerManager bool
	// WithNode gives the cluster a node, which only pretends to run pods: those
	// of Deployments become ready, and nothing answers at their addresses. It
	// implies WithControllerManager.
	WithNode bool
	// Files are programs to use; those without a name are found as
	// [KubernetesBinaries] finds them, and only if they are needed.
	Files KubernetesFiles
}

// Kubernetes is a Kubernetes API: etcd and kube-apiserver, with RBAC. Pods can
// be made, and stay pending unless there is a node.
type Kubernetes struct {
	// URL is the API server's address. It stays the same when the server is
	// stopped and started.
	URL string

	admin      *rest.Config
	kubeconfig string
	authority  *authority
	kubectl    func(context.Context) (string, error)

	// These are nil for a cluster that another process runs.
	supervisor *supervise.Supervisor
	mu         sync.Mutex
	api        *server
}

// StartKubernetes builds what is missing and runs a cluster of its own. The
// API answers when it returns, and the controllers of the controller manager
// are at work. The caller closes it; what a caller leaves behind that cannot
// is removed all the same.
func StartKubernetes(ctx context.Context, o KubernetesOptions) (*Kubernetes, error) {
	wants := []want{{etcdComponent, &o.Files.Etcd}, {apiServerComponent, &o.Files.APIServer}}
	o.WithControllerManager = o.WithControllerManager || o.WithNode
	if o.WithControllerManager {
		wants = append(wants, want{controllerManagerComponent, &o.Files.ControllerManager})
	}
	if o.WithNode {
		wants = append(wants, want{schedulerComponent, &o.Files.Scheduler}, want{kwokComponent, &o.Files.Kwok})
	}
	if err := newBuilder(o.Log).fill(ctx, wants); err != nil {
		return nil, err
	}
	supervisor, err := supervise.Start(ctx, "", os.Getenv("ASSAY_TESTBED_LOGS"))
	if err != nil {
		return nil, err
	}
	k, err := startKubernetes(ctx, supervisor, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Kubernetes: %w", err), supervisor.Close())
	}
	return k, nil
}

func startKubernetes(ctx context.Context, s *supervise.Supervisor, o KubernetesOptions) (*Kubernetes, error) {
	plane, err := layControlPlane(ctx, s, o.Files)
	if err != nil {
		return nil, fmt.Errorf("prepare the control plane: %w", err)
	}
	if err := plane.etcd.start(ctx); err != nil {
		return nil, err
	}
	if err := plane.api.start(ctx); err != nil {
		return nil, err
	}
	if o.WithControllerManager {
		if err := plane.controllers.start(ctx); err != nil {
			return nil, err
		}
	}
	if o.WithNode {
		if err := plane.node.start(ctx); err != nil {
			return nil, err
		}
	}
	return &Kubernetes{
		URL: plane.admin.Host, admin: plane.admin, kubeconfig: plane.kubeconfig,
		authority: plane.authority, kubectl: findKubectl(o),
		supervisor: s, api: plane.api,
	}, nil
}

// findKubectl finds kubectl when it is used for the first time.
func findKubectl(o KubernetesOptions) func(context.Context) (string, error) {
	var mu sync.Mutex
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		err := newBuilder(o.Log).fill(ctx, []want{{kubectlComponent, &o.Files.Kubectl}})
		return o.Files.Kubectl, err
	}
}

// AttachKubernetes uses a cluster that another process runs, by the name of
// its [Kubernetes.Kubeconfig]. Its Close leaves that alone.
func AttachKubernetes(kubeconfig string, log io.Writer) (*Kubernetes, error) {
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	signer, err := readAuthority(filepath.Dir(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("find the authority beside the kubeconfig: %w", err)
	}
	return &Kubernetes{
		URL: admin.Host, admin: unlimited(admin), kubeconfig: kubeconfig,
		authority: signer, kubectl: findKubectl(KubernetesOptions{Log: log}),
	}, nil
}

// Config is the configuration of a client that may do everything, as a member
// of system:masters. Its requests are not held back to a rate.
func (k *Kubernetes) Config() *rest.Config { return rest.CopyConfig(k.admin) }

// Kubeconfig is the file that makes kubectl and other programs the same
// client. It goes with the cluster.
func (k *Kubernetes) Kubeconfig() string { return k.kubeconfig }

// User is the configuration of a client for another user, who may do what
// RBAC grants to that name and those groups: nothing, for a name that is new.
// Its requests are held back to the rate that client-go has by default.
func (k *Kubernetes) User(name string, groups ...string) *rest.Config {
	config, err := k.authority.config(k.URL, time.Now(), name, groups...)
	if err != nil {
		// The authority has signed before.
		panic(err)
	}
	return config
}

// WriteKubeconfig makes a file by which programs are the client that a
// configuration with a certificate or a token describes.
func WriteKubeconfig(file string, config *rest.Config) error {
	const name = "testbed"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, file)
}

// Kubectl runs kubectl as the administrator and returns its output. An error
// carries what kubectl said.
func (k *Kubernetes) Kubectl(ctx context.Context, args ...string) (string, error) {
	program, err := k.KubectlFile(ctx)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, args...)
	// It keeps what it learns of the API below HOME.
	command.Env = []string{
		"KUBECONFIG=" + k.kubeconfig, "HOME=" + filepath.Dir(k.kubeconfig), "PATH=" + os.Getenv("PATH"),
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return string(output), fmt.Errorf("kubectl: %w: %s", err, lastLines(stderr.Bytes(), 20))
	}
	return string(output), nil
}

// KubectlFile is the program that [Kubernetes.Kubectl] runs.
func (k *Kubernetes) KubectlFile(ctx context.Context) (string, error) { return k.kubectl(ctx) }

// StopAPIServer ends the API server and leaves etcd alone. Requests that wait
// for something are cut off, at the latest after 20 seconds.
func (k *Kubernetes) StopAPIServer(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.api == nil {
		return errOtherKubernetes
	}
	return k.api.stop(ctx)
}

// StartAPIServer starts the API server again after [Kubernetes.StopAPIServer]
// and returns when it answers.
func (k *Kubernetes) StartAPIServer(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.api == nil {
		return errOtherKubernetes
	}
	if k.api.process != nil {
		return errors.New("the API server is running")
	}
	return k.api.start(ctx)
}

// Close ends everything that the cluster runs and removes its files. It
// returns when both are done.
func (k *Kubernetes) Close() error {
	if k.supervisor == nil {
		return nil
	}
	return k.supervisor.Close()
}

// ApplyDefinitions applies the custom resource definitions of a folder and
// returns when their kinds are served. Right after that they have no
// conditions yet, which kubectl wait takes for an error: it is asked again.
func (k *Kubernetes) ApplyDefinitions(ctx context.Context, folder string) error {
	if _, err := k.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", folder); err != nil {
		return err
	}
	var err error
	for range 30 {
		if _, err = k.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all"); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}
