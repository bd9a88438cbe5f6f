# Everything a contributor runs. "make" alone lists it.

# What pods of the development cluster run on: auto, real or simulated.
NODE ?= auto
# Where a real node has its images from: auto, registry or debian.
IMAGES ?= auto
# The first of the ports on 127.0.0.1 that the development cluster takes. Empty: the ones
# it has, or the defaults.
BASE_PORT ?=
# Further flags of "devcluster up", see bin/devcluster up --help.
UP_FLAGS ?=
# Where the development cluster keeps its state.
CLUSTER_DIR ?= .devcluster

GO ?= go
# What the binaries of "make build" say they are.
VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo v0.0.0)
COMMIT = $(shell git describe --always --abbrev=40 --dirty --exclude '*')
VERSION_PACKAGE = github.com/kubesites/website-apiserver/pkg/version
STAMP = -ldflags "-X $(VERSION_PACKAGE).gitVersion=$(VERSION) -X $(VERSION_PACKAGE).gitCommit=$(COMMIT)"
GO_BUILD = CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false
DEVCLUSTER = bin/devcluster

.DEFAULT_GOAL := help
.PHONY: test-scale help tools build generate verify test test-external-etcd up down clean $(DEVCLUSTER)

help: ## List the targets and variables
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "Variables of make up, as in: make up BASE_PORT=17443"
	@echo "  NODE=auto                what pods run on (default): real where possible, else simulated; says which and why"
	@echo "  NODE=real                kubelet and containerd in a network of their own: sites are really served."
	@echo "                           Linux, as root; installs runc and nftables on Debian. Pods reach the"
	@echo "                           cluster's own git server and nothing else, so the example is one of its"
	@echo "                           repositories instead of kubia"
	@echo "  NODE=simulated           kwok: pods become Ready, no container runs"
	@echo "  IMAGES=auto              images of a real node: pulled where a registry answers, else made from"
	@echo "                           Debian's packages (IMAGES=registry, IMAGES=debian: only that)"
	@echo "  BASE_PORT=N              the first of 12 consecutive ports (default 16443)"
	@echo "  CLUSTER_DIR=DIR          where the cluster keeps its state (also of make down; default .devcluster)"
	@echo "  UP_FLAGS='...'           further flags, see: bin/devcluster up --help"

# Names what is missing before a cryptic error does.
tools:
	@command -v $(GO) >/dev/null || { echo "make: the tool \"$(GO)\" is missing in PATH: install Go $$(awk '$$1 == "go" {print $$2}' go.mod) or newer from your system's packages or from go.dev/dl" >&2; exit 1; }
	@command -v git >/dev/null || { echo "make: the tool \"git\" is missing in PATH: install it from your system's packages" >&2; exit 1; }
	@$(GO) version | awk -v want="$$(awk '$$1 == "go" {print $$2}' go.mod)" '\
		{ have = $$3; sub(/^go/, "", have); split(have, h, "."); split(want, w, "."); \
		  if (have ~ /^[0-9]/ && (h[1]+0 < w[1]+0 || (h[1]+0 == w[1]+0 && h[2]+0 < w[2]+0))) { \
		    print "make: Go " have " is too old: go.mod asks for " want " or newer. Install it from your system'\''s packages or from go.dev/dl, or set GOTOOLCHAIN=auto to let Go (1.21 or newer) fetch it" > "/dev/stderr"; exit 1 } }'

build: tools ## Build website-apiserver and website-controller into bin/
	$(GO_BUILD) $(STAMP) -o bin/website-apiserver ./cmd/apiserver
	$(GO_BUILD) $(STAMP) -o bin/website-controller ./cmd/controller

generate: tools ## Regenerate generated code
	hack/update-codegen.sh

verify: tools ## Check formatting, generated files and everything else that needs no cluster
	hack/verify.sh

test: tools ## Run all tests
	hack/test.sh

test-external-etcd: tools ## Run the integration tests with Websites in an etcd of their own
	hack/test-integration.sh -external-etcd

test-scale: tools ## Restart the controller over 1000 settled Websites, instead of the 200 of "make test"
	hack/test-integration.sh -settled-websites=1000 -test.run='^TestRestartedControllerWritesNothing$$'

# Go decides whether it is up to date.
$(DEVCLUSTER): tools
	@test -x $@ || echo "building $@ (the first time takes a minute or two)"
	@cd hack/devcluster && $(GO_BUILD) -o $(CURDIR)/$@ ./cmd

up: $(DEVCLUSTER) ## Start a development cluster, apply the example Website and say how to use it
	@exec $(DEVCLUSTER) up --dir=$(CLUSTER_DIR) --node=$(NODE) --images=$(IMAGES) $(if $(BASE_PORT),--base-port=$(BASE_PORT)) $(UP_FLAGS)

# Nothing to build a command for if there is no cluster.
down: ## Stop the development cluster and remove its state
	@if [ -e $(CLUSTER_DIR) ]; then $(MAKE) --no-print-directory $(DEVCLUSTER) && exec $(DEVCLUSTER) down --dir=$(CLUSTER_DIR); else echo "nothing to stop: there is no $(CLUSTER_DIR)"; fi

clean: down ## Stop the cluster and remove everything built or left by tests (Kubernetes programs stay cached)
	rm -rf bin _artifacts
