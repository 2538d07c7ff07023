# make demo and make test need Go, git and make; they install everything else, or say in one line what is missing.
SHELL := /bin/bash
export CGO_ENABLED ?= 0

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
PREFIX    ?= $(HOME)/.local
LINT      := .cache/lint/v2.14.0/golangci-lint
COMMANDS  := cco cco-box cco-guard cco-cruise

.PHONY: all build demo test test-race test-heavy test-all test-lima flaky lint platforms bench fuzz crash soak shots guard-eval guard-cage install uninstall release clean tools

all: build

# The linker writes through a mapping, which leaves the file in small pieces in the page cache; a copy starts faster.
build: ## build the commands into bin/
	@scripts/compile "$(VERSION)" "" "" .cache/build $(COMMANDS) && mkdir -p bin
	@for c in $(COMMANDS); do cp .cache/build/$$c bin/.$$c.$$$$ && mv -f bin/.$$c.$$$$ bin/$$c || exit; done

demo: ## run the main job for real: a plan goes into a box, commits come back
	@$(MAKE) --no-print-directory build COMMANDS='cco cco-box cco-guard' && scripts/demo

tools: ## install what the tests need, or say what is missing
	@scripts/tools

test: tools build ## the tests, with the race detector where something runs side by side
	@CCO_PROGRAMS=$(CURDIR)/.cache/build scripts/test

test-race: tools build ## the tests, all of them with the race detector
	@RACE=all CCO_PROGRAMS=$(CURDIR)/.cache/build scripts/test

flaky: tools ## run PKG N times beside busy loops on all cores, and list what failed: PKG=heavy is make test-heavy
	@scripts/flaky $(or $(N),20) $(PKG)

test-lima: ## boot a real virtual machine of Lima's and run the suite in it
	@scripts/test-lima

test-heavy: build ## the heavy real parts alone
	@scripts/test-heavy

test-all: test test-heavy ## the tests and the heavy real parts

$(LINT):
	@scripts/cache lint
	@test -x $@ || GOBIN=$(CURDIR)/$(@D) go install -trimpath -gcflags=all=-dwarf=false github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(notdir $(@D))

# It asks Go for packages outside of the module too, where there is no -modfile.
lint: $(LINT) ## golangci-lint for linux and darwin
	@. scripts/flags && export GOFLAGS="$${compiled[*]:1}" && for os in linux darwin; do GOOS=$$os $(LINT) run ./... || exit; done

platforms: ## build everything for every platform; the linters vet it
	@. scripts/flags && for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		GOOS=$${p%/*} GOARCH=$${p#*/} go build "$${compiled[@]}" ./... || exit; done

bench: build ## speed beside plain git, bwrap and others, as a table (ONLY=pull for some rows)
	@scripts/tools heavy
	@go run ./internal/bench -bin bin -only "$(ONLY)"

fuzz: ## a minute of fuzzing for each target
	@scripts/fuzz

CRASH_KILLS ?= 200
GUARD_KILLS ?= 50
BURY_KILLS ?= 100
crash: ## kill phases again and again, CRASH_KILLS times or a few more, and compare with one that was left alone; cages, GUARD_KILLS times; and removals of sessions, BURY_KILLS times
	@set -o pipefail; CRASH_KILLS=$(CRASH_KILLS) go test -tags heavy -count=1 -v -parallel 3 -timeout 60m ./internal/cruise/crash | grep -v '^=== '
	@GUARD_KILLS=$(GUARD_KILLS) go test -tags heavy -count=1 -v -timeout 60m -run '^TestKilledCages$$' ./internal/git/aside
	@BURY_KILLS=$(BURY_KILLS) go test -count=1 -v -timeout 60m -run '^TestKilledRemovals$$' ./internal/session/keeping

shots: build ## make the pictures for README and docs from the real page
	@scripts/tools heavy
	@mkdir -p .cache/shots
	@SHOTS=$(CURDIR)/.cache/shots go test -tags heavy -count=1 -timeout 20m -run '^TestShots$$' ./internal/view
	@cp .cache/shots/view-home.png .cache/shots/view-home-phone.png docs/ && cp .cache/shots/view-changes.png docs/view.png
	@echo "all screens are in .cache/shots"

soak: ## carry phases through all broken pipelines, and machines that die again and again, which takes an hour
	@SOAK=all go test -tags heavy -count=1 -timeout 60m -run '^TestRandomRequestsDoNoHarm$$' ./internal/view
	@SOAK=all go test -tags heavy -count=1 -parallel 4 -timeout 60m ./internal/cruise/soak
	@SOAK=all go test -tags heavy -count=1 -parallel 4 -timeout 120m -run 'Machine|Elsewhere|Older|Worker|Service|Operator|Versions|History' ./internal/cruise/crash

guard-eval: ## the guard's figures on a set of labelled calls
	@test -n "$(CASES)" || { echo "say where the labelled calls are: make guard-eval CASES=DIR" >&2; exit 2; }
	@go test -tags eval -v -count=1 -run "^TestLabelledCalls$$" ./internal/guard -args -cases $(abspath $(CASES))

guard-cage: ## run labelled calls in the cage, below the directory BELOW (in one LAYOUT), and see that nothing outside changes
	@test -n "$(CASES)" -a -n "$(BELOW)" || { echo "say where: make guard-cage CASES=DIR BELOW=DIR" >&2; exit 2; }
	@go test -tags eval -v -count=1 -timeout 120m -run "^TestLabelledCallsInTheCage$$/^$(LAYOUT)" ./internal/cli -args -cases $(abspath $(CASES)) -below $(BELOW)

install: build ## install into PREFIX (default ~/.local)
	@install -d "$(PREFIX)/bin" && install $(COMMANDS:%=bin/%) "$(PREFIX)/bin/"
	@echo "installed $(COMMANDS) in $(PREFIX)/bin"

uninstall:
	@rm -f $(COMMANDS:%="$(PREFIX)/bin/%")

release: ## reproducible archives for linux and darwin in dist/
	@VERSION=$(VERSION) scripts/release

clean:
	@rm -rf bin dist

.PHONY: gate-eval
gate-eval: ## figures of the gate on the labelled changes and on our own last 300 commits
	go test ./internal/gate -tags eval -run 'TestSet|TestHistoryIsQuiet' -v
