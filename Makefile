# Each target says what it is for after "##"; a bare `make` lists them. The steps longer than a line are scripts in .ci.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X github.com/assay-dev/assay/apps/cli.Version=$(VERSION) -X github.com/assay-dev/assay/apps/http.Version=$(VERSION)

# What `make e2e` runs: the contract suites and the end-to-end tests. One package at a time, since each starts a deployment of its own;
# -short leaves out what another package shows too.
E2E_PACKAGES ?= ./adapters/... ./apps/...
E2E_FLAGS ?= -race -short -count=1 -timeout 30m -p 1 -parallel 3

# Where the runner of the scenario files and its -update flag live.
SCENARIO_PACKAGES ?= ./fakes/scenario/...
# The tools of .tools/go.mod that go:generate lines call by name.
GENERATORS ?= moq controller-gen crd-ref-docs oapi-codegen
# What `make cross` builds the CLI for, without cgo.
CROSS ?= darwin/arm64 windows/amd64
# Which Go benchmarks `make bench` runs, and what it hands to apps/cli/cmd/bench.
BENCH ?= .
BENCH_FLAGS ?= -json bin/bench.json
# What `make proof` hands to fakes/proof/cmd/proof, for example -quick or -only create.go.
PROOF_FLAGS ?=
# What `make soak` hands to apps/http/cmd/soak, for example -for 1m; with ASSAY_DATABASE_URL it runs on PostgreSQL.
SOAK_FLAGS ?=
# How many seeds `make sim` plays.
SEEDS ?= 100000

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## run tests against a simulated Coder; needs nothing but Go
	@$(GO) run ./apps/cli/cmd/assay demo

.PHONY: build
build: ## build the CLI and the server into bin
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/assay ./apps/cli/cmd/assay
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/assay-server ./apps/http/cmd/assay-server

.PHONY: test
test: ## everything below that can fail, after setting up what it needs (the first run builds a real Coder)
	@.ci/test

.PHONY: test-unit
test-unit: ## the tests that need no service, with the race detector
	$(GO) test -race ./...

.PHONY: e2e
e2e: ## the contract and end-to-end tests against a real Coder on PostgreSQL
	$(GO) run ./adapters/testbed/cmd/testbed build
	ASSAY_E2E=1 $(GO) test $(E2E_FLAGS) $(E2E_PACKAGES)

.PHONY: verify
verify: ## check generated files, formatting, go.mod and the layout of the repository
	@.ci/verify

.PHONY: lint
lint: ## run golangci-lint, import rules included
	"$$(.tools/build golangci-lint)/golangci-lint" run ./...

.PHONY: fmt
fmt: ## format the Go code
	"$$(.tools/build golangci-lint)/golangci-lint" fmt ./...

# Runs the go:generate lines that match a pattern, with the tools that they call.
GENERATE = PATH="$$(.tools/build $(GENERATORS)):$$PATH" $(GO) generate

.PHONY: generate
generate: ## regenerate all that go:generate lines make: the three below
	$(GENERATE) ./...

.PHONY: manifests
manifests: ## regenerate the operator's definitions and roles, and the copies that are installed
	$(GENERATE) -run 'controller-gen (crd|rbac)|cmd/ship' ./adapters/kubernetes/... ./apps/operator/...

.PHONY: codegen
codegen: ## regenerate Go code: deep copies and stubs
	$(GENERATE) -run 'controller-gen object|moq' ./...

.PHONY: docs-reference
docs-reference: ## regenerate docs/reference/api.md, cli.md, server.md, server-files.md and openapi.yaml, and the client that follows it
	$(GENERATE) -run 'crd-ref-docs|clidocs|oapi-codegen' ./adapters/kubernetes/... ./apps/cli/... ./apps/http/...

.PHONY: share
share: ## write man pages and shell completions below bin/share
	$(GO) run ./apps/cli/cmd/clidocs -share bin/share

.PHONY: scenarios
scenarios: ## rewrite the expected trails of the scenario files from what the code does now
	$(GO) test $(SCENARIO_PACKAGES) -run TestScenarios -count=1 -update

.PHONY: sim
sim: ## play SEEDS random runs, and crash every scenario at every call; check the invariants
	$(GO) run ./fakes/sim/cmd/sim -seeds $(SEEDS)
	$(GO) run ./fakes/sim/cmd/sim -stories

.PHONY: sim-check
sim-check: ## play 20,000 fixed seeds, and 2,000 random ones whose first seed it prints
	$(GO) run ./fakes/sim/cmd/sim -seeds 20000 -from 1
	$(GO) run ./fakes/sim/cmd/sim -seeds 2000 -from random

.PHONY: proof
proof: ## change the rules in one place at a time: does a test notice each change?
	$(GO) run ./fakes/proof/cmd/proof $(PROOF_FLAGS)

.PHONY: proof-check
proof-check: ## the same for a fixed sample, with the fast tests only
	$(GO) run ./fakes/proof/cmd/proof -quick -sample 200 -seed 1

.PHONY: bench
bench: ## the Go benchmarks (BENCH is a pattern), the server with 100,000 tests, and assay against bare API calls on a real Coder
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...
	$(GO) run ./apps/http/cmd/bench
	@mkdir -p bin
	$(GO) run ./apps/cli/cmd/bench $(BENCH_FLAGS)

.PHONY: soak
soak: ## three servers for ten minutes, killed and cut off from Coder again and again; nothing may be lost or left
	$(GO) run ./apps/http/cmd/soak $(SOAK_FLAGS)

.PHONY: cross
cross: ## build the CLI for the systems that it is not developed on
	@for target in $(CROSS); do \
	  os=$${target%/*} arch=$${target#*/} ext=; \
	  [ "$$os" != windows ] || ext=.exe; \
	  printf 'bin/assay-%s-%s%s\n' "$$os" "$$arch" "$$ext"; \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -ldflags '$(LDFLAGS)' \
	    -o "bin/assay-$$os-$$arch$$ext" ./apps/cli/cmd/assay || exit 1; \
	done

.PHONY: clean
clean: ## remove bin/; the caches of tools and components stay
	rm -rf bin
