# SPDX-License-Identifier: Apache-2.0
# Needs only Go, git and make. test-race and verify also need a C compiler, for the race detector.

# Without cgo, as releases are built. With it, the linker prepares every program for the Go plugins of kustomize, which
# takes twice as long.
export CGO_ENABLED ?= 0

GO         ?= go
BINARY     := bin/kubectl-fleetdoctor
MAIN       := ./cmd/kubectl-fleetdoctor
MODULE     := github.com/fleetdoctor/kubectl-fleetdoctor
# A source archive has no .git. There, git would report the version of a surrounding repository.
VERSION    ?= $(or $(if $(wildcard .git),$(shell git describe --tags --always --dirty 2>/dev/null)),dev)
COMMIT     ?= $(if $(wildcard .git),$(shell git rev-parse HEAD 2>/dev/null))
# -ldflags sets the version and the commit. -buildvcs would fail in a checkout that another user owns.
BUILDFLAGS := -trimpath -buildvcs=false -ldflags '-X $(MODULE)/pkg/cmd.version=$(VERSION) -X $(MODULE)/pkg/cmd.commit=$(COMMIT)'
# The linters are pinned in a separate module, so that their dependencies never enter go.mod.
TOOL       := $(GO) tool -modfile=test/tools/go.mod
# The programs that build a release, in another module for the same reason.
RELEASE    := $(GO) tool -modfile=test/release/go.mod
# kube-apiserver, etcd and kubectl for the tests. If KUBEBUILDER_ASSETS is set, the tests use that directory. Otherwise
# the three are built once into the user's cache, at the version in K8S (1.32 or 1.34) or, if K8S is not set, in
# test/apiserver/go.mod. The build runs before the tests: it shows its progress, and no test times out because of it.
ASSETS     := assets=$$($(GO) run -C test/apiserver .) && KUBEBUILDER_ASSETS=$$assets
TIMEOUT    ?= 40m
# The packages with the slowest tests come first. They mostly wait, so the other packages are built at the same time.
ALL        := ./test/e2e ./test/bench ./...
# The packages with tests that need no API server: neither their code nor their tests import test/cluster.
SHORT      = $(GO) list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}} ' ./... | \
	grep -v '$(MODULE)/test/cluster ' | cut -d ' ' -f 1
N          ?= 5000
ADOPT_N    ?= 10000
REPAIR_N   ?= 1000
FLEET_N    ?= 50
CLUSTERS_N ?= 50
FUZZTIME   ?= 20s

.DEFAULT_GOAL := help
.PHONY: help build demo man test test-short test-e2e test-race test-alerts test-node bench bench-adopt bench-auditor bench-clusters bench-fleet bench-repair bench-webhook fuzz generate format format-check lint lint-workflows vuln verify release release-check release-version clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/kubectl-fleetdoctor
	$(GO) build $(BUILDFLAGS) -o $(BINARY) $(MAIN)

# The captured cluster has problems, so the audit must end with exit status 1 (findings). A plan that is not applied ends
# with 1 too.
demo: build ## Audit a captured cluster that has problems, and plan its repair; needs no cluster
	@for verb in audit repair; do \
		echo "$$ kubectl fleetdoctor $$verb --snapshot test/testdata/sick"; \
		$(BINARY) $$verb --snapshot test/testdata/sick; status=$$?; \
		if [ $$status -ne 1 ]; then echo "demo: $$verb ended with status $$status, not 1" >&2; exit 1; fi; \
		echo; \
	done

man: ## Write man pages to bin/man, with the date of the last commit, and completion scripts to bin/completions
	SOURCE_DATE_EPOCH=$(or $(SOURCE_DATE_EPOCH),$(if $(wildcard .git),$(shell git log -1 --format=%ct 2>/dev/null)),0) $(GO) run ./test/man bin $(VERSION)

test: ## Run every test; the real API server is built on the first run, then cached
	$(ASSETS) $(GO) test -timeout $(TIMEOUT) $(ALL)

test-short: ## Run the tests that need no API server
	packages=$$($(SHORT)) && $(GO) test -timeout $(TIMEOUT) $$packages

# A cached result may be that of another version: go test does not record the environment that TestMain reads.
test-e2e: ## Run the end-to-end tests; K8S=1.32 or K8S=1.34 runs them against that kube-apiserver
	$(ASSETS) $(GO) test -count=1 -timeout $(TIMEOUT) ./test/e2e

test-race: export CGO_ENABLED := 1
test-race: ## Run every test with the race detector
	$(ASSETS) $(GO) test -race -timeout $(TIMEOUT) $(ALL)

bench: ## Measure against the real API server with N objects (N=5000)
	$(ASSETS) $(GO) run ./test/bench -n $(N)

bench-adopt: ## Measure adopt and its undo with ADOPT_N objects (ADOPT_N=10000)
	$(ASSETS) $(GO) run ./test/bench -adopt -n $(ADOPT_N) -rounds 5

bench-auditor: ## Measure the auditor in the cluster with N objects (N=5000)
	$(ASSETS) $(GO) run ./test/bench -auditor -n $(N) -rounds 3

bench-clusters: ## Measure one audit of CLUSTERS_N clusters with N objects each (CLUSTERS_N=50, N=5000)
	$(ASSETS) $(GO) run ./test/bench -clusters $(CLUSTERS_N) -n $(N) -rounds 5

bench-fleet: ## Measure an audit of a management cluster with FLEET_N bundles on FLEET_N clusters (FLEET_N=50)
	$(ASSETS) $(GO) run ./test/bench -fleet -n $(FLEET_N)

bench-repair: ## Measure a repair of REPAIR_N deleted objects and its undo (REPAIR_N=1000)
	$(ASSETS) $(GO) run ./test/bench -repair -n $(REPAIR_N) -rounds 5

bench-webhook: ## Measure writes without a webhook, with a no-op webhook and with this webhook
	$(ASSETS) $(GO) run ./test/bench -webhook -rounds 9

# Five steps of minimization per input: the default of one minute would use up the time for finding more inputs.
fuzz: ## Run each fuzz target for FUZZTIME (FUZZTIME=20s)
	@targets=$$(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' $(wildcard cmd pkg webhook test) | \
		sed 's|^\(.*\)/[^/]*:func \(.*\)$$|\1 \2|' | sort); \
	if [ -z "$$targets" ]; then echo "fuzz: no target found" >&2; exit 1; fi; \
	echo "$$targets" | while read -r dir name; do \
		echo "fuzz: $$dir $$name"; \
		$(GO) test "./$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x || exit 1; \
	done

generate: ## Rewrite generated code and docs
	$(GO) generate ./...

format: ## Format the code and its imports
	$(TOOL) golangci-lint fmt

format-check: ## Fail if `make format` would change a file
	$(TOOL) golangci-lint fmt --diff

lint: ## Run golangci-lint, pinned in test/tools
	$(TOOL) golangci-lint run ./...

lint-workflows: ## Check the workflows of GitHub Actions
	$(GO) tool -modfile=test/actionlint/go.mod actionlint

test-alerts: ## Test the alerts and dashboards with promtool, Prometheus and Alertmanager, pinned in test/prometheus
	$(GO) tool -modfile=test/prometheus/go.mod promtool check rules manifests/auditor/alerts.yaml
	$(GO) tool -modfile=test/prometheus/go.mod promtool test rules test/alerts/rules.test.yaml
	$(GO) test -C test/prometheus -count=1 .

# Needs root on Linux, and of Debian: containerd crun containernetworking-plugins iptables conntrack ipset. Without them, it names what is missing and ends with 2.
# The first run builds kubelet, kube-proxy, kube-router and helm, which takes minutes. PREVIOUS is the revision of the previous release, by default the newest tag.
test-node: ## Run both charts on a real node: helm, kubelet, containerd and the image of a release
	$(GO) build -o bin/test-node ./test/node && bin/test-node -previous "$(PREVIOUS)"

# govulncheck exits with 3 if it found a vulnerability and with 1 if it could not run. Only status 1 may be ignored.
vuln: ## Look for known vulnerabilities; passes if the database cannot be reached
	@output=$$($(TOOL) govulncheck ./... 2>&1); status=$$?; \
	if [ $$status -eq 1 ] && echo "$$output" | grep -q '^govulncheck: fetching vulnerabilities:'; then \
		echo "vuln: skipped, the vulnerability database cannot be reached"; exit 0; \
	fi; \
	echo "$$output"; exit $$status

verify: ## Generate, check format, lint, test with the race detector, then require a clean tree
	@$(MAKE) --no-print-directory generate
	@$(MAKE) --no-print-directory format-check
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test-race
	@changes=$$(git status --porcelain) || exit 1; \
	if [ -n "$$changes" ]; then echo "verify: the tree is not clean, commit or undo:" >&2; echo "$$changes" >&2; exit 1; fi

# The charts of a tag must name the image of the tag, because a GitRepo can deploy them without this program.
release-version: ## Write the version of a release into the charts (VERSION=v1.2.3); commit it, then tag the commit
	sed -i.old -e 's|^appVersion:.*|appVersion: $(VERSION)|' -e 's|^version:.*|version: $(VERSION:v%=%)|' manifests/*/Chart.yaml && rm manifests/*/Chart.yaml.old

# The time of every file is that of the commit. Only the release workflow can sign; it sets RELEASE_ARGS to --skip=publish, which also requires that the
# tag is on this commit and that the tree is clean.
RELEASE_ARGS ?= --snapshot --skip=sign
release: ## Build archives, checksums, SBOMs, the image and the krew manifest in dist/ (VERSION=v1.2.3)
	VERSION=$(VERSION) $(RELEASE) goreleaser release --clean $(RELEASE_ARGS)
	$(GO) run -C test/release ./image -version $(VERSION) -created $$(git log -1 --format=%ct) -archives ../../dist -o ../../dist/image > dist/image.digest
	$(GO) run ./test/krew -version $(VERSION) -checksums dist/checksums.txt krew.yaml > dist/fleetdoctor.yaml

release-check: ## Build the release twice and compare every byte
	$(MAKE) --no-print-directory release && rm -rf bin/first && mkdir -p bin && mv dist bin/first
	$(MAKE) --no-print-directory release
	@for f in $$(cd dist && find . -type f \( -name 'kubectl-fleetdoctor_*' -o -name checksums.txt -o -name fleetdoctor.yaml -o -path './image/*' -o -name image.digest \)); do \
		cmp "bin/first/$$f" "dist/$$f" || exit 1; done; echo "release-check: the two builds have the same bytes"

clean: ## Remove bin and dist
	rm -rf bin dist
