package testbed

import (
	"context"
	_ "embed" // for the stages
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// nodeName is the node of a cluster that has one.
const nodeName = "pretended"

//go:embed stages.yaml
var stages []byte

// node makes pods become ready: a scheduler, and kwok in place of a machine.
type node struct {
	scheduler, kwok *server
	nodes           typedcorev1.NodeInterface
}

// layNode says how to run a node of a cluster, whose client is handed in. It
// starts nothing.
func layNode(
	ctx context.Context, s *supervise.Supervisor, files KubernetesFiles, folder string, plane *controlPlane, client *http.Client,
) (*node, error) {
	core, err := typedcorev1.NewForConfigAndClient(plane.admin, client)
	if err != nil {
		return nil, err
	}
	n := &node{nodes: core.Nodes()}
	if n.scheduler, err = schedulerServer(ctx, s, files.Scheduler, folder, plane.kubeconfig, client); err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "stages.yaml")
	if err := os.WriteFile(file, stages, 0o600); err != nil {
		return nil, err
	}
	n.kwok = &server{
		supervisor: s,
		spec: supervise.Spec{
			Name: "kwok", Path: files.Kwok, Dir: folder, Env: controlPlaneEnvironment(folder),
			Args: []string{
				"--kubeconfig=" + plane.kubeconfig, "--config=" + file, "--manage-single-node=" + nodeName,
				// The controllers that watch over leases of nodes do not run.
				"--node-lease-duration-seconds=0",
				"--cidr=10.1.0.0/16",
			},
		},
		ready: n.ready,
	}
	return n, nil
}

// schedulerServer answers with the API server's certificate, which is for the
// same address.
func schedulerServer(
	ctx context.Context, s *supervise.Supervisor, program, folder, kubeconfig string, client *http.Client,
) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return &server{
		supervisor: s,
		spec: supervise.Spec{
			Name: "kube-scheduler", Path: program, Dir: folder, Env: controlPlaneEnvironment(folder),
			Args: []string{
				"--kubeconfig=" + kubeconfig, "--authentication-skip-lookup", "--leader-elect=false", "--profiling=false",
				"--bind-address=" + host, "--secure-port=" + port,
				"--tls-cert-file=" + filepath.Join(folder, "apiserver.crt"),
				"--tls-private-key-file=" + filepath.Join(folder, "apiserver.key"),
			},
		},
		ready: func(ctx context.Context) bool { return answers(ctx, client, "https://"+address+"/healthz") },
	}, nil
}

// start makes the node and returns once it is ready and pods can be scheduled.
func (n *node) start(ctx context.Context) error {
	made, err := n.nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make the node: %w", err)
	}
	// A new node is tainted until a controller, which does not run, finds it
	// ready.
	made.Spec.Taints = nil
	if _, err := n.nodes.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("open the node for pods: %w", err)
	}
	if err := n.scheduler.start(ctx); err != nil {
		return err
	}
	return n.kwok.start(ctx)
}

// ready reports whether kwok has taken the node over.
func (n *node) ready(ctx context.Context) bool {
	found, err := n.nodes.Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return false
	}
	for _, c := range found.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
