// Package testbed starts a real Coder deployment on this machine: the Coder
// server with PostgreSQL below it, OpenTofu and Coder's Terraform provider
// beside it, and templates whose workspaces run real agents without a cloud.
// In the same way it starts a real Kubernetes API, with no nodes behind it.
//
// [Binaries], [KubernetesBinaries] and [HelmBinary] build the programs from their Go
// modules, pinned by the modules below pins, once into a cache. [Start] runs a
// deployment and [StartKubernetes] a cluster; [Require], [RequireKubernetes] and
// [RequirePostgres] are the doors for tests. What is started ends with the
// program that started it and its files go with it, also when that program is
// killed: see the package supervise.
//
// Both run as root or as anybody else. Agents run their scripts with the login
// shell of the user, so an account without one sees every script fail.
//
// The environment decides where things come from:
//
//   - ASSAY_E2E=1 lets [Require], [RequireKubernetes] and [RequirePostgres]
//     start something; tests are skipped without it.
//   - ASSAY_TESTBED_CACHE is the cache's folder. By default it is
//     assay-testbed in XDG_CACHE_HOME or ~/.cache.
//   - ASSAY_TESTBED_CODER, ASSAY_TESTBED_TOFU and ASSAY_TESTBED_PROVIDER are
//     files to use instead of building; a Terraform binary serves as
//     ASSAY_TESTBED_TOFU. So are ASSAY_TESTBED_ETCD,
//     ASSAY_TESTBED_KUBE_APISERVER, ASSAY_TESTBED_KUBE_CONTROLLER_MANAGER,
//     ASSAY_TESTBED_KUBECTL and ASSAY_TESTBED_HELM.
//   - ASSAY_TESTBED_POSTGRES_BIN is a folder with initdb and postgres.
//   - ASSAY_TESTBED_LOGS is a folder where the logs of the servers stay; by
//     default they go with what was started.
//   - ASSAY_TESTBED_URL and ASSAY_TESTBED_TOKEN_FILE name a deployment that is
//     already running, ASSAY_TESTBED_KUBECONFIG a cluster, as "testbed up"
//     prints them; [Require] and [RequireKubernetes] then use it.
package testbed
