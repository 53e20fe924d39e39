package testbed

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// controlPlane is what a cluster consists of, ready to be started in this
// order.
type controlPlane struct {
	etcd, api, controllers *server
	node                   *node

	authority  *authority
	admin      *rest.Config
	kubeconfig string
}

// The groups and the names that Kubernetes itself gives a meaning.
const (
	adminGroup         = "system:masters"
	controllersName    = "system:kube-controller-manager"
	defaultAccountPath = "/api/v1/namespaces/default/serviceaccounts/default"
)

// controllers are the controllers that the controller manager runs: those that
// act on what the API itself holds, and those that make the pods of
// Deployments. The others make other pods and see to nodes.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"deployment-controller",
	"garbage-collector-controller",
	"namespace-controller",
	"replicaset-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
}

// layControlPlane makes the keys and certificates of a cluster below the
// supervisor's folder, and says how to run its servers. It starts nothing.
func layControlPlane(ctx context.Context, s *supervise.Supervisor, files KubernetesFiles) (*controlPlane, error) {
	// The name is short because a socket's is bounded, at 104 bytes on macOS.
	folder := filepath.Join(s.Folder(), "kube")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	signer, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	if err := layKeys(folder, signer, now, net.ParseIP(host)); err != nil {
		return nil, err
	}
	plane := &controlPlane{authority: signer, kubeconfig: filepath.Join(folder, "admin.kubeconfig")}
	url := "https://" + address
	admin, err := signer.config(url, now, "admin", adminGroup)
	if err != nil {
		return nil, err
	}
	plane.admin = unlimited(admin)
	if err := WriteKubeconfig(plane.kubeconfig, admin); err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(plane.admin)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(folder, "etcd.sock")
	plane.etcd = etcdServer(s, files.Etcd, folder, socket)
	plane.api = apiServer(s, files.APIServer, folder, "unix://"+socket, host, port)
	plane.api.ready = func(ctx context.Context) bool { return answers(ctx, client, url+"/readyz") }
	plane.controllers, err = controllerManager(s, files.ControllerManager, folder, signer, url)
	if err != nil {
		return nil, err
	}
	// The account is made by one of the controllers, so they run once it is
	// there; and pods of the namespace are refused before.
	plane.controllers.ready = func(ctx context.Context) bool { return answers(ctx, client, url+defaultAccountPath) }
	if plane.node, err = layNode(ctx, s, files, folder, plane, client); err != nil {
		return nil, err
	}
	return plane, nil
}

// layKeys writes what the API server reads from files.
func layKeys(folder string, signer *authority, now time.Time, address net.IP) error {
	if err := signer.write(folder); err != nil {
		return err
	}
	serving, err := signer.server(now, address)
	if err != nil {
		return err
	}
	if err := serving.write(folder, "apiserver"); err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := encodeKey(accounts)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "accounts.key"), key, 0o600)
}

// etcdServer listens on a Unix socket in a folder that only its user may
// enter. It gives up safety for speed: the data is thrown away.
func etcdServer(s *supervise.Supervisor, program, folder, socket string) *server {
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}
	return &server{
		supervisor: s,
		spec: supervise.Spec{
			Name: "etcd", Path: program, Dir: folder, Env: controlPlaneEnvironment(folder),
			Args: []string{
				"--data-dir=" + filepath.Join(folder, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
				"--listen-client-urls=unix://" + socket,
				// Peers and those who ask for other members are told of
				// addresses that nobody uses: there is one member.
				"--advertise-client-urls=http://127.0.0.1:0",
				"--listen-peer-urls=http://127.0.0.1:0",
			},
		},
		ready: func(ctx context.Context) bool { return answers(ctx, client, "http://etcd/health") },
	}
}

func apiServer(s *supervise.Supervisor, program, folder, etcd, host, port string) *server {
	at := func(name string) string { return filepath.Join(folder, name) }
	return &server{supervisor: s, spec: supervise.Spec{
		Name: "kube-apiserver", Path: program, Dir: folder, Env: controlPlaneEnvironment(folder),
		Args: []string{
			"--etcd-servers=" + etcd,
			"--bind-address=" + host, "--advertise-address=" + host, "--secure-port=" + port,
			"--tls-cert-file=" + at("apiserver.crt"), "--tls-private-key-file=" + at("apiserver.key"),
			"--client-ca-file=" + at("ca.crt"),
			"--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-signing-key-file=" + at("accounts.key"),
			"--service-account-key-file=" + at("accounts.key"),
			"--service-cluster-ip-range=10.0.0.0/24",
			// Nobody in the cluster could reach a loopback address.
			"--endpoint-reconciler-type=none",
			"--profiling=false",
		},
	}}
}

func controllerManager(
	s *supervise.Supervisor, program, folder string, signer *authority, url string,
) (*server, error) {
	config, err := signer.config(url, time.Now(), controllersName, adminGroup)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(folder, "controllers.kubeconfig")
	if err := WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	return &server{supervisor: s, spec: supervise.Spec{
		Name: "kube-controller-manager", Path: program, Dir: folder, Env: controlPlaneEnvironment(folder),
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--controllers=" + strings.Join(controllers, ","),
			"--root-ca-file=" + filepath.Join(folder, "ca.crt"),
			"--leader-elect=false", "--secure-port=0", "--profiling=false",
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
	}}, nil
}

func controlPlaneEnvironment(folder string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + folder, "TZ=UTC"}
}

// config is a client's configuration with a certificate of its own.
func (a *authority) config(url string, now time.Time, name string, groups ...string) (*rest.Config, error) {
	own, err := a.client(now, name, groups...)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	return &rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{
		CAData: a.pem, CertData: own.certificate, KeyData: own.key,
	}}, nil
}

// unlimited lifts the limit that client-go sets itself.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}
