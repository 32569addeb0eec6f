# Sightline. Start with `make run`, prove with `make test`; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X sightline/internal/app.Version=$(VERSION) -X main.version=$(VERSION)
GOFLAGS_BUILD := -trimpath -ldflags '$(LDFLAGS)'
LISTEN ?= 127.0.0.1:7070

# Packages whose code runs concurrently: they are tested under the race detector.
RACE := ./internal/health ./internal/ingest ./internal/demo/... ./internal/loadgen
# Seconds that each fuzz target runs in `make test`.
FUZZTIME ?= 3s

say = @printf '\n== %s\n' "$(1)"

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: web ## build bin/sightline and bin/sightline-agent with the console inside
	$(call say,building the binaries (the first time takes some minutes; packages are listed as they are done))
	@scripts/need go
	@mkdir -p bin
	@go build -v $(GOFLAGS_BUILD) -o bin/ ./cmd/sightline ./cmd/sightline-agent 2> >(awk '{n++; if (n % 25 == 0 || /sightline/) printf "   %d packages, now %s\n", n, $$0; fflush()}' >&2)
	@ls -lh bin | awk 'NR>1{print "   " $$NF, $$5}'

.PHONY: run
run: build ## start the demo: real engines, real load, live console
	$(call say,starting the demo; stop it with Ctrl-C)
	@exec bin/sightline demo --listen $(LISTEN)

web/node_modules/.done: web/package.json web/package-lock.json
	$(call say,installing the console's packages)
	@scripts/need node
	@echo '   about 160 packages, half a minute to two'
	@cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

WEB_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts web/tsconfig.json 2>/dev/null)

web/dist/index.html: web/node_modules/.done $(WEB_SOURCES)
	$(call say,building the console)
	@cd web && npm run --silent build
	@touch $@

.PHONY: web
web: web/dist/index.html ## build the console

.PHONY: test
test: ## everything that proves the product: house rules, units, scripts, fuzz, race, console, browser, end to end
	@scripts/need go node chromium promtool
	@$(MAKE) --no-print-directory lint test-go test-accuracy test-race fuzz test-web e2e
	$(call say,all of it passed)

.PHONY: lint
lint: web ## formatting, vet, types of the console
	$(call say,gofmt and vet)
	@scripts/need go
	@bad=$$(gofmt -l cmd internal web/*.go *.go); [ -z "$$bad" ] || { echo "gofmt would change: $$bad"; exit 1; }
	go vet ./...
	$(call say,types of the console)
	@cd web && npm run --silent check

.PHONY: test-go
test-go: web ## Go tests: house rules, units, scripts, conformance
	$(call say,Go tests (the first build of the tests takes some minutes))
	go test -timeout 15m $$(go list ./... | grep -v /app/accuracy)

.PHONY: test-accuracy
test-accuracy: ## canonical values against the load generator's own log (two minutes, alone on the machine)
	$(call say,accuracy of canonical values)
	@for try in 1 2 3; do \
	  if go test -timeout 10m -count=1 -v ./internal/app/accuracy; then exit 0; fi; \
	  printf '   try %d of 3 was outside its tolerances; whatever else this machine does moves times\n' $$try; \
	done; exit 1

.PHONY: test-race
test-race: ## Go tests of concurrent packages under the race detector
	$(call say,race detector)
	CGO_ENABLED=1 go test -race -short -timeout 15m $(RACE)

.PHONY: fuzz
fuzz: ## each fuzz target of the light packages for FUZZTIME
	$(call say,fuzzing each parser for $(FUZZTIME))
	@scripts/fuzz $(FUZZTIME)

.PHONY: fuzz-all
fuzz-all: ## every fuzz target for FUZZTIME (builds Prometheus again, instrumented)
	@scripts/fuzz $(FUZZTIME) all

.PHONY: test-web
test-web: web ## console unit tests and the size of its first script
	$(call say,console tests)
	@cd web && npm run --silent test && npm run --silent size

.PHONY: e2e
e2e: build ## the real binary with the demo, official clients, a real browser
	@scripts/need chromium promtool
	$(call say,end to end)
	@scripts/e2e

.PHONY: bench
bench: build ## measure the budgets beside their peers; results go to bench/
	@scripts/bench

.PHONY: soak
soak: build ## the demo for 30 minutes, memory recorded to bench/soak.csv
	@scripts/soak

.PHONY: generate
generate: ## generated code and docs
	@scripts/need go
	go generate ./...

.PHONY: clean
clean: ## remove what was built
	rm -rf bin web/dist/* web/node_modules
	@touch web/dist/.gitkeep
