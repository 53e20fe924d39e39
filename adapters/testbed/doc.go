// Package testbed starts a real Coder deployment on this machine: the Coder
// server with PostgreSQL below it, OpenTofu and Coder's Terraform provider
// beside it, and templates whose workspaces run real agents without a cloud.
//
// [Binaries] builds the programs from their Go modules, pinned by the modules
// below pins, once into a cache. [Start] runs a deployment; [Require] is the
// door for tests. Whatever a bed starts ends with the program that started it
// and its files go with it, also when that program is killed: see the package
// supervise.
//
// A bed runs as root or as anybody else. Agents run their scripts with the
// login shell of the user, so an account without one sees every script fail.
//
// The environment decides where things come from:
//
//   - ASSAY_E2E=1 lets [Require] start a bed; tests are skipped without it.
//   - ASSAY_TESTBED_CACHE is the cache's folder. By default it is
//     assay-testbed in XDG_CACHE_HOME or ~/.cache.
//   - ASSAY_TESTBED_CODER, ASSAY_TESTBED_TOFU and ASSAY_TESTBED_PROVIDER are
//     files to use instead of building; a Terraform binary serves as
//     ASSAY_TESTBED_TOFU.
//   - ASSAY_TESTBED_POSTGRES_BIN is a folder with initdb and postgres.
//   - ASSAY_TESTBED_LOGS is a folder where the logs of Coder and PostgreSQL
//     stay; by default they go with the bed.
//   - ASSAY_TESTBED_URL and ASSAY_TESTBED_TOKEN_FILE name a bed that is
//     already running, as "testbed up" prints them; [Require] then uses it.
package testbed
