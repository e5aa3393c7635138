# The ways to build and check the repository; `make help` lists them.
#
# Building needs Go and nothing else. Where a target needs another program that is
# missing, it installs it by apt when it may, and says so when not.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# How long each fuzz target runs in `make fuzz` and in `make check`.
FUZZTIME ?= 10s
CHECK_FUZZTIME ?= 1s

# Arguments for `make bench-lang`, such as BENCH="-rounds 9 -engines ql,lua5.4", for
# `make bench-http`, such as BENCH="-rounds 9 -script trivial", and for
# `make bench-jobs`, such as BENCH="-rounds 9 -only rates,bytes".
BENCH ?=

# The linters live in a module of their own, so that the product's go.mod names
# only what the product is made of.
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod

# Modules beside the main one; `./...` does not reach into them.
BESIDE := bench/lang deploy

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name what; do \
		printf '  make %-12s %s\n' "$$name" "$$what"; done

# What the program spends its time on, for the compiler: docs/decisions/0148.
PROFILE := cmd/ql/ql.pgo

.PHONY: build
build: ## build the program into bin/ql
	CGO_ENABLED=0 go build -trimpath -pgo=$(PROFILE) -o bin/ql ./cmd/ql

.PHONY: profile
profile: ## measure anew what the compiler is told to make fast
	folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; mkdir "$$folder/calls" "$$folder/cluster"; \
	go run -trimpath ./bench/http -rounds 1 -profiles "$$folder/calls" && \
	go run -trimpath ./bench/cluster -rounds 2 -only accepted,sync,read,transaction -profiles "$$folder/cluster" && \
	go tool pprof -proto -output $(PROFILE) "$$folder/calls/ql.pprof" "$$folder/cluster/ql.pprof"

# The documentation shows programs that call the service, and a test runs them;
# another watches the server's system calls. Where a program cannot be had, that
# test alone fails, and says so.
.PHONY: test
test: ## run all tests, afresh
	-tools/need python3 python3 node nodejs php php-cli strace strace chromium chromium sshd openssh-server pg_ctlcluster postgresql pgbouncer pgbouncer systemd-analyze systemd haproxy haproxy faketime faketime
	@# The S3 server for tests takes minutes to build, once.
	-go tool -modfile=tools/s3/go.mod -n versitygw >/dev/null
	go test -count=1 -timeout 20m ./...
	cd deploy && go test -count=1 ./...

CHECKS := check-fmt vet lint vuln race check-beside check-web check-clients check-acme check-guests check-fuzz

.PHONY: check
check: $(CHECKS) ## everything that must hold besides the tests

.PHONY: list-checks
list-checks:
	@echo $(CHECKS)

# Tests named TestPromise… check what the documentation promises in numbers.
# They run a small count in `make test`, and the promised one when QL_PROMISES=1
# is in the environment.
.PHONY: promises
promises: ## check the documented promises at their full counts
	QL_PROMISES=1 go test -count=1 -p 1 -timeout 60m -run Promise -v ./...

.PHONY: fmt
fmt: ## format the Go code
	gofmt -w .

.PHONY: check-fmt
check-fmt:
	@unformatted=$$(gofmt -l .); \
	if [[ -n $$unformatted ]]; then \
		echo "these files are not formatted (make fmt does it):"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet:
	go vet ./...

.PHONY: lint
lint: ## run the linters of .golangci.yml
	$(TOOL) golangci-lint run ./...
	@for module in $(BESIDE); do (cd "$$module" && \
		$(TOOL) golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: vuln
vuln: ## look for known vulnerabilities that the code can reach
	tools/vuln

# The race detector needs a C compiler. It makes everything many times slower,
# so the long property tests run their -short versions under it. It watches our
# code: the C library that was translated to Go keeps its data outside the heap,
# where the detector sees nothing, and locks it with mutexes that it still sees; the
# compiler of WebAssembly modules is as slow under it, and shares nothing of ours.
# No package among them may use sync.Map: a generic function is linked once, and one
# that was compiled unwatched hides from the detector what orders two goroutines
# (TestDetectorSeesMaps).
# Left out are packages in which nothing runs beside anything else, and those whose
# tests watch processes that were built without the detector. Of the machine's tests those run
# that share a program.
WAZEVO := github.com/tetratelabs/wazero/internal/engine/wazevo
UNWATCHED := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory $(WAZEVO)/ssa $(WAZEVO)/frontend $(WAZEVO)/backend/...
RACELESS := bench/.*|e2e|editors|internal/(archtest|attacktest|crashtest|doctest)|lang/(compile|form|format|langtest.*|resolve|rows|source|syntax|vm)

.PHONY: race
race: ## run the tests under the race detector
	tools/need gcc build-essential
	packages=$$(go list ./... | grep -vxE 'ql/($(RACELESS))'); reports=$$(mktemp -d); trap 'rm -rf "$$reports"' EXIT; \
	GORACE="log_path=$$reports/race" CGO_ENABLED=1 go test -race $(UNWATCHED:%=-gcflags=%=-race=false) -short -count=1 -timeout 20m $$packages || \
	{ grep -hsE 'DATA RACE|by goroutine|created at|^  ql/|^      .*/(internal|lang|cmd)/' "$$reports"/race.*; exit 1; } # last, and without the frames of others
	CGO_ENABLED=1 go test -race -short -count=1 -timeout 5m -run Concurrent ./lang/vm

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	tools/fuzz $(FUZZTIME)

# A search is random: what it finds is seldom the fault of the change at hand.
.PHONY: check-fuzz
check-fuzz:
	tools/fuzz --report $(CHECK_FUZZTIME)

.PHONY: check-beside
check-beside:
	@for module in $(BESIDE); do (cd "$$module" && go vet ./...); done
	cd bench/lang && go test -count=1 ./... # those of deploy are run by make test

# Clients are made of the OpenAPI document by the generators that people use, and call the service. The
# language server is driven by the client library of editors.
.PHONY: check-clients
check-clients:
	-tools/need node nodejs npm npm nvim neovim emacs emacs-nox emacs elpa-eglot
	go vet -tags clients ./e2e
	go test -tags clients -count=1 -v -run 'GeneratedClients|EditorClient|Neovim|Emacs' ./e2e

# Certificates for domains of sites come from a real ACME server, which is built of the tools' module.
.PHONY: check-acme
check-acme:
	go vet -tags acme ./internal/app
	go test -tags acme -count=1 -run ACME ./internal/app

# A program in C is built for WebAssembly by Debian's compiler, and one in Python comes with an
# interpreter from npm; both are run as modules.
.PHONY: check-guests
check-guests:
	tools/need clang clang wasm-ld lld
	[[ -e /usr/include/wasm32-wasi/stdio.h ]] || tools/need wasi-libc wasi-libc libclang-rt-wasm32 libclang-rt-14-dev-wasm32
	-tools/need node nodejs npm npm
	go vet -tags guests ./internal/resource/machines/wasm
	go test -tags guests -count=1 -run 'CProgram|PythonProgram' ./internal/resource/machines/wasm

# The extension for Visual Studio Code. Its client of the protocol is bundled into it, so that it needs
# no network once it is packed; npm is needed to build it, and for nothing else.
.PHONY: vscode
vscode: ## build the extension for VS Code into bin/ql.vsix
	-tools/need node nodejs npm npm
	cd editors/vscode && npm ci --no-audit --no-fund --ignore-scripts && \
		node_modules/.bin/esbuild extension.js --bundle --platform=node --format=cjs --target=node18 --minify \
			--external:vscode --outfile=dist/extension.js
	go run ./editors vsix

# The dashboard. What is built is committed, so that Go alone builds the program; a test of
# internal/server/dashboard says where it is not of these sources.
.PHONY: web
web: web/node_modules/.package-lock.json ## build the dashboard into internal/server/dashboard/assets
	cd web && npm run --silent build

web/node_modules/.package-lock.json: web/package-lock.json
	-tools/need node nodejs npm npm
	@# Not npm ci: the lock file names no builds of the bundler for other systems.
	cd web && npm install --no-save --no-audit --no-fund --ignore-scripts
	@touch $@

# All pages in light and dark, wide and narrow: to be looked at, and small ones for the documentation.
.PHONY: pictures
pictures: ## take pictures of the dashboard into bin/pictures, and those of docs/dashboard.md
	mkdir -p docs/pictures
	QL_SCREENSHOTS=$(CURDIR)/bin/pictures QL_TOUR=$(CURDIR)/docs/pictures go test -count=1 -timeout 20m -run TestInBrowser ./internal/server/dashboard

# It must be the same bytes wherever it is built.
.PHONY: check-web
check-web: web
	cd web && npm run --silent check && npm run --silent test
	@test -z "$$(git status --porcelain internal/server/dashboard/assets)" || { \
		echo "the dashboard was not built of its sources: commit what make web writes"; git status --short internal/server/dashboard/assets; exit 1; }

.PHONY: grammar
grammar: ## write the grammar for highlighting, of the parser's words (then make web)
	go run ./editors grammar

.PHONY: bench-lang
bench-lang: ## measure the language beside its peers (arguments: BENCH="…")
	-tools/need lua5.4 lua5.4 php php-cli
	-lua5.4 -e 'require("cjson")' 2>/dev/null || tools/need cjson lua-cjson
	cd bench/lang && go run . $(BENCH)

.PHONY: bench-http
bench-http: ## measure calls over HTTP beside a bare handler (arguments: BENCH="…")
	go run -pgo=$(PROFILE) ./bench/http $(BENCH)

# PHP and nginx are of the distribution. What reads SQLite in PHP is no command, so it is looked for in PHP.
.PHONY: bench-site
bench-site: ## measure pages and files of sites beside nginx and PHP (arguments: BENCH="…")
	-tools/need nginx nginx php php-cli php-fpm8.2 php8.2-fpm
	-php -m | grep -q pdo_sqlite || tools/need pdo_sqlite php8.2-sqlite3
	go run -pgo=$(PROFILE) ./bench/site $(BENCH)

# Held to 2.5 GiB of data, as a small node is.
.PHONY: bench-machines
bench-machines: ## measure a neighbour's calls beside hostile modules (arguments: BENCH="…")
	go build -o bin/bench-machines ./bench/machines
	ulimit -d 2621440; GOMEMLIMIT=1920MiB bin/bench-machines $(BENCH)

.PHONY: bench-pairs
bench-pairs: ## measure another build beside this one (arguments: BENCH="-before PATH")
	go run ./bench/pairs $(BENCH)

.PHONY: bench-fuel
bench-fuel: ## measure what a unit of fuel buys, the worst on top (arguments: BENCH="…")
	go run ./bench/fuel $(BENCH)

.PHONY: bench-jobs
bench-jobs: ## measure durable jobs beside synchronous calls (arguments: BENCH="…")
	go run -pgo=$(PROFILE) ./bench/jobs $(BENCH)

.PHONY: bench-cluster
bench-cluster: ## measure the service on PostgreSQL and S3 beside SQLite and bare statements (arguments: BENCH="…")
	go run -pgo=$(PROFILE) ./bench/cluster $(BENCH)

.PHONY: bench-resources
bench-resources: ## measure files and databases beside the bare library (arguments: BENCH="…")
	go run ./bench/resources $(BENCH)

.PHONY: tidy
tidy: ## bring go.mod and go.sum of every module up to date
	go mod tidy
	@for module in $(BESIDE); do (cd "$$module" && go mod tidy); done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
