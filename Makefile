# What a contributor runs. "make" lists the targets.

# The nodes of the development cluster: auto, real or simulated.
NODE ?= auto
# The source of a real node's images: auto, registry or debian.
IMAGES ?= auto
# Not empty: the development cluster has Gateway API, and a Gateway with certificates.
GATEWAY ?=
# The first port on 127.0.0.1 of the development cluster. Empty: those of the existing
# cluster, or the defaults.
BASE_PORT ?=
# More flags of "devcluster up", see bin/devcluster up --help.
UP_FLAGS ?=
# The directory with the state of the development cluster.
CLUSTER_DIR ?= .devcluster
# The platforms of "make images".
PLATFORMS ?= linux/amd64,linux/arm64
# The tag of the images. Empty: the one that artifacts/ names.
TAG ?=
# The file with the Ed25519 key that signs a release.
KEY ?=
# Where make deploy pushes images, as in registry.example.com/kubesites, or the command that loads an image archive into
# the nodes of the cluster. Both empty: kind, k3d and minikube, by the name of the context.
REGISTRY ?=
LOAD ?=
# The kubeconfig context of make deploy and make undeploy. Empty: the current one.
CONTEXT ?=
# The git repository that make deploy publishes. Empty: that of artifacts/examples/hello.yaml.
REPO ?=
# Not empty: make undeploy deletes all Websites first.
ALL ?=
# The versions of make test-hosts.
KUBERNETES_VERSIONS ?= v1.34.4 v1.35.4 v1.36.3
# The directory to which make test and make test-long write the coverage of pkg/. Empty: none.
COVERAGE ?=
# More flags of make test and make test-long, see --help of bin/suites.
TEST_FLAGS ?=
# Tests use all processors. As a batch, a process that wakes up does not preempt another: tests that exchange many
# messages take up to a fifth less CPU time. Empty: the machine has no chrt, or forbids it.
BATCH = $(shell chrt --batch 0 true 2>/dev/null && echo chrt --batch 0)
# How long make test-robustness injects each fault.
FAULT_TIME ?= 10m
# Not empty: make bench measures less, and compares ratios with test/bench/ranges.json; make
# bench-controller measures less.
QUICK ?=
# The mutants of make test-mutants, by their numbers, and flags of hack/mutants. Empty: all of them.
MUTANTS ?=
# More flags of make bench, bench-controller, bench-growth and bench-serving, see "bin/bench api --help" and so on.
BENCH_FLAGS ?=

GO ?= go
# The flags of all that is compiled, Kubernetes included: what several programs and tests
# share is compiled once.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
# The version that the binaries of "make build" report.
VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo v0.0.0)
COMMIT = $(shell git describe --always --abbrev=40 --exclude '*')$(shell test -z "$$(git status --porcelain 2>/dev/null)" || echo -dirty)
VERSION_PACKAGE = github.com/kubesites/website-apiserver/pkg/version
VALUES = -X $(VERSION_PACKAGE).gitVersion=$(VERSION) -X $(VERSION_PACKAGE).gitCommit=$(COMMIT)
STAMP = -ldflags "$(VALUES)"
GO_BUILD = GO=$(GO) hack/go-build.sh
DEVCLUSTER = bin/devcluster

.DEFAULT_GOAL := help
.PHONY: bench bench-controller bench-growth bench-serving bench-deploys test-hosts test-original test-cert-manager test-ha test-robustness test-scale help tools build images release deploy undeploy demo generate verify test test-long test-mutants up down clean $(DEVCLUSTER)

help: ## List the targets and variables
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-19s%s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "Variables of make up, as in: make up NODE=simulated BASE_PORT=17443"
	@echo "  NODE=auto           real if this machine supports it, else simulated (default);"
	@echo "                      that of an existing cluster"
	@echo "  NODE=real           containers run and pages are served: Linux, as root;"
	@echo "                      artifacts/default is installed"
	@echo "  NODE=simulated      kwok: pods become Ready, but no container runs;"
	@echo "                      the programs of this repository run beside the cluster"
	@echo "  IMAGES=auto         pull the images of a real node if a registry is reachable,"
	@echo "                      else build them from Debian packages (default)"
	@echo "  IMAGES=registry     only pull; IMAGES=debian: only build"
	@echo "  GATEWAY=1           Gateway API, a Gateway and a CA: https://www.example.test;"
	@echo "                      with a real node"
	@echo "  UP_FLAGS='--git-sync-image-archive=FILE --nginx-image-archive=FILE'"
	@echo "                      images of a real node, as docker save writes them"
	@echo "  UP_FLAGS='--kubernetes-version=v1.34.4'"
	@echo "                      another Kubernetes version, with NODE=simulated"
	@echo "  BASE_PORT=N         the first of 12 consecutive ports (default 16443)"
	@echo "  CLUSTER_DIR=DIR     state, also for make down (default .devcluster)"
	@echo "  UP_FLAGS='...'      more flags, see: bin/devcluster up --help"

# Names a missing tool, and what to do.
tools:
	@command -v $(GO) >/dev/null || { echo "make: the tool \"$(GO)\" is missing in PATH: install Go $$(awk '$$1 == "go" {print $$2}' go.mod) or newer from your system's packages or from go.dev/dl" >&2; exit 1; }
	@command -v git >/dev/null || { echo "make: the tool \"git\" is missing in PATH: install it from your system's packages" >&2; exit 1; }
	@$(GO) version | awk -v want="$$(awk '$$1 == "go" {print $$2}' go.mod)" '\
		{ have = $$3; sub(/^go/, "", have); split(have, h, "."); split(want, w, "."); \
		  if (have ~ /^[0-9]/ && (h[1]+0 < w[1]+0 || (h[1]+0 == w[1]+0 && h[2]+0 < w[2]+0))) { \
		    print "make: Go " have " is too old: go.mod asks for " want " or newer. Install it from your system'\''s packages or from go.dev/dl, or set GOTOOLCHAIN=auto to let Go (1.21 or newer) fetch it" > "/dev/stderr"; exit 1 } }'

build: tools ## Build website-apiserver, website-controller and website-agent in bin/
	@$(GO_BUILD) bin/website-apiserver . ./cmd/apiserver $(STAMP)
	@$(GO_BUILD) bin/website-controller . ./cmd/controller $(STAMP)
	@$(GO_BUILD) bin/website-agent . ./cmd/agent -ldflags "-s -w $(VALUES)"

# Bytes depend on the version of Go, so it is the one that go.mod names.
IMAGES_COMMAND = cd hack/images && GOTOOLCHAIN=$${GOTOOLCHAIN:-$$(awk '$$1 == "toolchain" {print $$2}' go.mod)} $(GO) run ./cmd \
	--version=$(VERSION) --commit=$(COMMIT) --platforms=$(PLATFORMS) --date=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}

images: tools ## Build the container images in dist/, without a container engine
	@$(IMAGES_COMMAND) --out="$(CURDIR)/dist" $(if $(TAG),--tag=$(TAG))

release: tools ## Build dist/VERSION: images, manifests, signed by KEY
	@$(IMAGES_COMMAND) --out="$(CURDIR)/dist/$(VERSION)" --release --key="$(if $(filter-out /%,$(firstword $(KEY))),$(CURDIR)/)$(KEY)"

# Runs here, so that paths in KUBECONFIG and LOAD are relative to this directory.
DEPLOY_COMMAND = $(GO_BUILD) bin/deploy hack/images ./deploy && exec bin/deploy --context="$(CONTEXT)"

deploy: tools ## Install in the cluster of the current kubeconfig context
	@$(DEPLOY_COMMAND) --registry="$(REGISTRY)" --load="$(LOAD)" --repository="$(REPO)" --version=$(VERSION) --commit=$(COMMIT) --date=$$(git log -1 --format=%ct)

undeploy: tools ## Remove what make deploy has installed; ALL=1: all Websites
	@$(DEPLOY_COMMAND) --undeploy $(if $(ALL),--all)

generate: tools ## Regenerate generated code
	hack/update-codegen.sh

verify: tools ## Run all checks that need no cluster
	hack/verify.sh

test: tools ## Run all tests but the long ones
	@$(GO_BUILD) bin/suites . ./hack/suites
	@exec $(BATCH) bin/suites $(if $(COVERAGE),--coverage="$(COVERAGE)") $(TEST_FLAGS)

test-long: tools ## Run the long tests: hours
	@$(GO_BUILD) bin/suites . ./hack/suites
	@exec $(BATCH) bin/suites --long $(if $(COVERAGE),--coverage="$(COVERAGE)") $(TEST_FLAGS)

test-scale: tools ## Create 1000 Websites, restart the controller
	cd test && $(GO) test -count=1 -timeout=60m -v -run='^(TestRestartedControllerWritesNothing|TestReadyDuringAFlood)$$' ./integration/controller -args -settled-websites=1000 -flood-websites=1000

test-robustness: tools ## Inject each fault for 10 minutes under load
	cd test && $(GO) test -count=1 -timeout=8h -v -run='^(TestRobustness|TestReplicas|TestSeededBugs)$$' ./robustness -args -fault-time=$(FAULT_TIME) -replica-time=2m -load-rate=300

test-mutants: tools ## Break each promise of test/mutants; MUTANTS='03 17': some
	@$(GO_BUILD) bin/mutants . ./hack/mutants
	@exec bin/mutants $(MUTANTS)

test-original: tools ## Move 20 sites of the original controller on a real node
	cd test && $(GO) test -count=1 -timeout=40m -v -run='^TestOriginal$$' ./install -args -original-sites=20

test-cert-manager: tools ## Install with cert-manager on a real node, and renew certificates
	cd test && $(GO) test -count=1 -timeout=40m -v -run='^TestCertManager$$' ./install -args -cert-manager

test-ha: tools ## Install artifacts/ha on a real node and kill each pod
	cd test && $(GO) test -count=1 -timeout=40m -v -run='^TestHA$$' ./install -args -ha

test-hosts: tools ## Run the integration tests on older Kubernetes versions
	hack/test-hosts.sh $(KUBERNETES_VERSIONS)

bench: tools ## Measure the API beside others; QUICK=1 compares ratios
	@$(GO_BUILD) bin/bench test ./bench/cmd
	@exec bin/bench api $(if $(QUICK),--quick) $(BENCH_FLAGS)

bench-controller: tools ## Measure the controller beside others; QUICK=1 measures less
	@$(GO_BUILD) bin/scaffold-controller hack/scaffold-controller .
	@$(GO_BUILD) bin/bench test ./bench/cmd
	@exec bin/bench controller $(if $(QUICK),--quick) $(BENCH_FLAGS)

bench-growth: tools ## Measure 1,000 to 100,000 Websites
	@$(GO_BUILD) bin/bench test ./bench/cmd
	@exec bin/bench growth $(BENCH_FLAGS)

bench-deploys: tools ## Measure push to page, rollback, and a flood of requests
	cd test && $(GO) test -count=1 -timeout=40m -v -run='^TestDeployTimes$$' ./e2e -args -deploys=30

bench-serving: tools ## Measure pages of a Website beside a plain nginx, on a real node
	@$(GO_BUILD) bin/bench test ./bench/cmd
	@exec bin/bench serving $(BENCH_FLAGS)

demo: tools ## Record docs/images/demo.svg in the cluster of make up, with a real node
	$(GO) run ./hack/demo --cluster-dir="$(CLUSTER_DIR)"

# Go decides whether it is up to date.
$(DEVCLUSTER): tools
	@$(GO_BUILD) $@ hack/devcluster ./cmd

up: $(DEVCLUSTER) ## Start a development cluster with an example
	@exec $(DEVCLUSTER) up --dir="$(CLUSTER_DIR)" --node=$(NODE) --images=$(IMAGES) $(if $(GATEWAY),--gateway) $(if $(BASE_PORT),--base-port=$(BASE_PORT)) $(UP_FLAGS)

# Without a cluster, bin/devcluster is not built. Where it cannot be built, as on a full disk, the one that
# started the cluster stops it.
down: ## Stop the development cluster and remove its state
	@if [ ! -e "$(CLUSTER_DIR)" ]; then echo "nothing to stop: there is no $(CLUSTER_DIR)"; \
		else { $(MAKE) --no-print-directory $(DEVCLUSTER) || [ -x $(DEVCLUSTER) ]; } && exec $(DEVCLUSTER) down --dir="$(CLUSTER_DIR)"; fi

clean: down ## Run make down, and remove what builds and tests left
	rm -rf bin dist _artifacts
