// Testbed builds and runs the real components that the end-to-end tests need.
//
// "testbed build" builds them into the cache. "testbed up" starts a Coder
// deployment, and a Kubernetes API beside it if asked to, prints the variables
// that lead to them, and ends them on an interrupt. The package testbed
// documents the environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/assay-dev/assay/adapters/testbed"
)

const usage = `usage: testbed COMMAND

  build             build Coder, what it needs, the Kubernetes API and Helm into the cache
  up [-kubernetes]  start a Coder deployment, print how to reach it, run until interrupted;
                    -kubernetes starts a Kubernetes API too
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	switch {
	case slices.Equal(args, []string{"build"}):
		return build(ctx, stdout, stderr)
	case slices.Equal(args, []string{"up"}):
		return up(ctx, false, stdout, stderr)
	case slices.Equal(args, []string{"up", "-kubernetes"}):
		return up(ctx, true, stdout, stderr)
	}
	return errUsage
}

func build(ctx context.Context, stdout, stderr io.Writer) error {
	coder, err := testbed.Binaries(ctx, stderr)
	if err != nil {
		return err
	}
	kubernetes, err := testbed.KubernetesBinaries(ctx, stderr)
	if err != nil {
		return err
	}
	helm, err := testbed.HelmBinary(ctx, stderr)
	if err != nil {
		return err
	}
	for _, row := range [][2]string{
		{"coder", coder.Coder},
		{"tofu", coder.Tofu},
		{"provider", coder.Provider},
		{"postgres", coder.Postgres},
		{"etcd", kubernetes.Etcd},
		{"kube-apiserver", kubernetes.APIServer},
		{"kube-controller-manager", kubernetes.ControllerManager},
		{"kube-scheduler", kubernetes.Scheduler},
		{"kwok", kubernetes.Kwok},
		{"kubectl", kubernetes.Kubectl},
		{"helm", helm},
	} {
		fmt.Fprintf(stdout, "%-23s  %s\n", row[0], row[1])
	}
	return nil
}

// up prints lines that a shell can evaluate. The token is printed as a command
// that reads it from its file.
func up(ctx context.Context, withKubernetes bool, stdout, stderr io.Writer) (err error) {
	bed, err := testbed.Start(ctx, testbed.Options{Log: stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	fmt.Fprintf(stdout, "export CODER_URL=%s\nexport CODER_SESSION_TOKEN=\"$(cat '%s')\"\n"+
		"export ASSAY_TESTBED_URL=%[1]s\nexport ASSAY_TESTBED_TOKEN_FILE='%[2]s'\n",
		bed.URL, bed.OwnerTokenFile())
	if withKubernetes {
		cluster, failure := upKubernetes(ctx, stdout, stderr)
		if failure != nil {
			return failure
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
	}
	fmt.Fprintln(stderr, "what was started runs until this program is interrupted")
	<-ctx.Done()
	return nil
}

func upKubernetes(ctx context.Context, stdout, stderr io.Writer) (*testbed.Kubernetes, error) {
	cluster, err := testbed.StartKubernetes(ctx, testbed.KubernetesOptions{Log: stderr, WithControllerManager: true})
	if err != nil {
		return nil, err
	}
	kubectl, err := cluster.KubectlFile(ctx)
	if err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	fmt.Fprintf(stdout, "export KUBECONFIG='%s'\nexport ASSAY_TESTBED_KUBECONFIG='%[1]s'\nexport KUBECTL='%[2]s'\n",
		cluster.Kubeconfig(), kubectl)
	return cluster, nil
}
