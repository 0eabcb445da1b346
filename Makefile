# make help lists the targets. .ci/run is the gate; make lanes runs all that the gate has no time for.
.DEFAULT_GOAL := help
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.9
REVIVE := github.com/mgechev/revive@v1.15.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.11.0
# What users import. api/ lists what these export.
PUBLIC := ./server/... ./conn/... ./packet/... ./sched/... ./syncx/... ./chanx/... ./blocking/... ./dispatch/... ./process/... ./timer/... ./metrics ./admin ./console ./reactor
# Inputs for each fuzz target, and for that which has a reactor live through each. With a duration, go test before 1.27 may report
# "context deadline exceeded" as its end (golang/go#75804), most of all on a busy machine.
FUZZTIME ?= 100000x
FUZZTIME_REACTOR ?= 5000x
# make cross builds for CROSS and vets for VET; the tests build linux/amd64. vet checks a package and its tests but links
# nothing, so VET has one platform for each system and size of int.
CROSS := linux/arm64 linux/arm linux/riscv64 windows/arm64 darwin/amd64
VET := linux/386 windows/amd64 darwin/arm64 freebsd/amd64 netbsd/amd64 openbsd/amd64 dragonfly/amd64

# The library, and the nested modules that are tested and built as it is. bench/load, bench/peers,
# interop and the oracle have targets of their own. CONTRIBUTING.md says what the modules are for.
MODULES := . examples/http3 examples/proxy
# Modules without code of one platform, and with nothing to fuzz.
PORTABLE := contrib/prometheus contrib/otel cmd/suiro
# Those, and modules that are not built for each platform, because nats-server takes long.
TESTED := $(MODULES) $(PORTABLE) process/natscluster

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: ## all tests
	@set -e; for m in $(TESTED); do echo "go -C $$m test ./..."; go -C $$m test ./...; done

.PHONY: fmt
fmt: ## gofmt would change nothing
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change the files above"; exit 1; }

# vet compiles what a package imports. Nobody runs that code.
UNOPTIMIZED := -gcflags=all='-N -l'
.PHONY: vet
vet: ## vet for Linux, Windows and macOS, and staticcheck
	go vet ./...
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go vet $(UNOPTIMIZED) ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet $(UNOPTIMIZED) ./...
	go run $(STATICCHECK) ./...

.PHONY: typecheck
typecheck: ## type-check the library and the proxy for every platform and build tag: seconds, where make cross takes minutes
	@mkdir -p build
	@go build -o build/typecheck ./internal/cmd/typecheck
	@build/typecheck linux/amd64 $(CROSS) $(VET) linux/amd64,kqueue linux/amd64,explore linux/amd64,long
	@cd examples/proxy && ../../build/typecheck linux/amd64 windows/amd64 darwin/arm64

.PHONY: lint
lint: fmt ## gofmt, vet and staticcheck of all modules, and revive for the comments of exported names
	@set -e; for m in $(TESTED); do echo "vet, staticcheck $$m"; go -C $$m vet ./...; go -C $$m run $(STATICCHECK) ./...; done
	go run $(REVIVE) -config .revive.toml $(PUBLIC)

.PHONY: tools
tools: ## install what the lanes need besides Go, from Debian; the gate needs none of it
	.ci/tools

.PHONY: lanes lane
lanes: ## all that the gate has no time for, with one table in the end; SINCE=commit runs those that a change asks for
	.ci/lanes $(if $(SINCE),-since $(SINCE))
lane: ## make lane NAME=faults, or NAME="faults kqueue"; .ci/lanes -list lists them
	.ci/lanes $(or $(NAME),$(error use make lane NAME=..., of those that .ci/lanes -list prints))

.PHONY: golangci
golangci: ## golangci-lint by .golangci.yml, in every module (some minutes; not in the gate, but in the hosted workflow)
	@mkdir -p build
	GOBIN=$(CURDIR)/build go install $(GOLANGCI)
	@set -e; for m in $$(git ls-files '*go.mod'); do m=$$(dirname $$m); echo "golangci-lint $$m"; \
		(cd $$m && $(CURDIR)/build/golangci-lint run --max-issues-per-linter 0 --max-same-issues 0 ./...); done

.PHONY: api
api: ## write what the public packages export into api/; what is removed must be named in CHANGELOG.md
	go test -count=1 -run TheListingOfTheAPI . -renew-api

.PHONY: site
site: ## the guides of docs/ as a static site in build/site, by Hugo (0.111 or later); its links are checked
	rm -rf build/site
	hugo --source site --quiet
	go run ./internal/cmd/links build/site

.PHONY: licenses
licenses: ## write the modules that are linked, and their licenses, into THIRD_PARTY.md (CHECK=-check compares)
	@go run ./internal/cmd/licenses $(CHECK)

.PHONY: vulncheck
vulncheck: ## govulncheck: known vulnerabilities in what is called
	@.ci/vulncheck

.PHONY: coverage
coverage: ## all tests, then the share of the library's statements that they run, into build/coverage.txt
	@.ci/coverage

.PHONY: fuzz-targets
fuzz-targets: ## build each fuzz target into build/fuzz, as OSS-Fuzz does, and list them
	@.ci/fuzz-targets

.PHONY: workflows
workflows: ## actionlint on the hosted workflows
	go run $(ACTIONLINT)

.PHONY: units
units: ## systemd-analyze verify of the units of examples and of docs/shutdown.md
	@.ci/units

.PHONY: image
image: ## the content of examples/proxy's container image, built twice to the same bytes
	@.ci/image

.PHONY: apidiff
apidiff: ## print what of the API is incompatible with the last tag
	.ci/apidiff

.PHONY: cross
cross: ## vet for one platform of each kind, build for the others (linux/amd64 apart, which the tests build)
	@set -e; for p in $(CROSS); do \
		echo "cross $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0; export GOOS GOARCH CGO_ENABLED; \
		for m in $(MODULES); do go -C $$m build -o /dev/null ./...; done; done # a module of one program would leave it
	@set -e; for p in $(VET); do \
		echo "vet $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0; export GOOS GOARCH CGO_ENABLED; \
		for m in $(MODULES); do go -C $$m vet ./...; done; go build -o /dev/null ./examples/http; done
	@set -e; for m in $(PORTABLE); do echo "cross windows/amd64 $$m"; GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go -C $$m build -o /dev/null ./...; done

.PHONY: test-386
test-386: ## the tests on a 32-bit build, if the kernel runs 32-bit programs (QEMU's user mode ends in Go's signal handler)
	@export GOARCH=386 CGO_ENABLED=0; if ! go test -run '^$$' ./timer >/dev/null 2>&1; then \
		go vet ./timer && echo 'NOT CHECKED: the kernel runs no 32-bit programs'; exit; fi; \
	go test -short -skip 'TLS|Handshake' ./timer ./sched ./syncx ./chanx ./blocking ./reactor/... ./conn/... ./packet # TLS in plain Go takes minutes

.PHONY: test-arm64
test-arm64: ## the lock-free packages on arm64, in Debian's qemu-user (whose memory is as ordered as this machine's)
	GOARCH=arm64 CGO_ENABLED=0 go test -exec qemu-aarch64 -short -skip Allocat ./timer ./sched ./syncx ./chanx ./blocking

.PHONY: vm vm-all
vm: ## the reactors' tests on Debian's Linux 6.1 in QEMU (KERNEL=arm64@bookworm PACKAGES="sched chanx" for others)
	@.ci/vm $(or $(KERNEL),amd64@bookworm) $(or $(PACKAGES),reactor reactor/internal/uring)
vm-all: ## the same on all kernels that .ci/vm knows, and a table in build/vm/table.md
	@.ci/vm-all

.PHONY: kqueue kqueue-vet kqueue-reactor kqueue-conn
kqueue: kqueue-vet kqueue-reactor kqueue-conn ## the kqueue backend over an emulation of kqueue: its conformance, and the tests of conn and packet (RACE=-race for those; -j3)
kqueue-vet:
	go vet -tags kqueue ./reactor/... ./conn ./packet
kqueue-reactor:
	go test $(RACE) -tags kqueue ./reactor/internal/kevent
	go test $(RACE) -tags kqueue -run 'Kqueue|Addresses|Conformance/^kqueue' ./reactor
kqueue-conn:
	go test $(RACE) -tags kqueue -short -run '/^kqueue' ./conn ./packet

.PHONY: test-windows
test-windows: ## the tests of the Windows build, and its HTTP example with curl, under Wine (make tools installs what it needs)
	.ci/windows

.PHONY: oracle
oracle: ## compare the ring layer with giouring, byte for byte and live
	cd reactor/internal/uring/oracle && go vet . && go test -ldflags=-checklinkname=0 .

# The packages whose lock-free parts run in the explorer, besides its own.
EXPLORED := ./sched/ ./syncx/ ./chanx/ ./internal/engine/ ./internal/sending/ ./internal/handover/ ./internal/readiness/ ./internal/semaphore/ ./internal/membudget/ ./internal/admission/ ./internal/mailbox/ ./internal/mpsc/
.PHONY: explore explore-short
explore: ## every interleaving of the lock-free parts, within bounds, and the mutants it must find
	go test -tags explore ./internal/explore/
	go test -tags explore -run 'Explor|Interleav|Mutant' -timeout 55m $(EXPLORED)
explore-short: ## the same without mutants and with smaller bounds
	go test -vet=off -short -tags explore ./internal/explore/
	go test -vet=off -short -tags explore -run 'Explor|Interleav' -skip Mutant -timeout 7m $(EXPLORED)

.PHONY: model
model: ## the Promela model of parking (needs spin)
	sched/model/check.sh

.PHONY: long
long: ## what takes too long for every run: ten thousand slow readers, TLS in bulk
	go vet -tags long ./conn
	go test -tags long -run 'TenThousand|AThousandHandshakes|AHundredMegabytes' -v ./conn

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each, FuzzSameBytes for FUZZTIME_REACTOR
	@set -e; for m in $(MODULES); do for pkg in $$(go -C $$m list ./...); do \
		for f in $$(go -C $$m test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$f"; go -C $$m test -run '^$$' -fuzz "^$$f\$$" \
				-fuzztime $$([ $$f = FuzzSameBytes ] && echo $(FUZZTIME_REACTOR) || echo $(FUZZTIME)) $$pkg; done; done; done

.PHONY: faults
# The conformance under each class of faults waits most of the time: four processes share its classes.
faults: ## the tests in which system calls fail, by our hand and by strace's (needs strace)
	@mkdir -p build
	go test -race -c -o build/reactor.faults ./reactor
	@pids= rc=0; for part in 'epoll,_[^n]' 'epoll,_n' 'io_uring,_[^n]' 'io_uring,_n'; do \
		(cd reactor && SUIRO_FAULTS=each exec ../build/reactor.faults -test.timeout 10m -test.run "^TestConformanceUnderFaults$$/^$$part") & pids="$$pids $$!"; done; \
	SUIRO_FAULTS=each go test -race -run 'Fault|Strace' -skip '^TestConformanceUnderFaults$$' \
		./internal/faults ./conn ./packet ./server ./examples/echo || rc=1; \
	for pid in $$pids; do wait $$pid || rc=1; done; exit $$rc

.PHONY: chaos
chaos: ## random actions in all callbacks of conn, for 2000 connections of each case, under the race detector
	SUIRO_CHAOS_CONNS=500 go test -race -count=4 -timeout 30m -run Chaos ./conn

.PHONY: clients
clients: ## redis-benchmark, psql, curl, dig, iperf3, ssh and the like through examples/proxy, on both backends (make tools installs what it needs)
	.ci/clients

.PHONY: interop
interop: ## gRPC's interop client, WebSocket libraries, fasthttp, h2load, h2spec, go-redis and pgx, on both backends (make tools installs what it needs)
	.ci/interop

# Flags of interop/std, such as -suite net/http -mode dial -backend epoll; without -short it also looks for leaks, and takes longer.
STD ?= -short
.PHONY: quic
quic: ## quic-go's integration tests over server.ListenPacket, on both backends (some minutes)
	go -C interop run ./quic

.PHONY: std
std: ## Go's own tests of net, net/http, httptest, httputil and crypto/tls on Suiro (interop/std); not in the gate, ten minutes
	cd interop && nice -n 10 go run ./std $(STD)

.PHONY: bench
bench: ## compare with the peers, all workloads, into bench/RESULTS.md (10 minutes)
	go run ./bench -results bench

.PHONY: bench-modules
bench-modules: ## vet and test the modules under bench
	@set -e; for m in load peers actors; do echo "bench/$$m"; (cd bench/$$m && go vet ./... && go test ./...); done

.PHONY: guard
guard: ## compare Suiro's ratios to package net with bench/baselines.json: 1 if one is more than 20 % worse
	go run ./bench -guard

.PHONY: release
release: ## tag a version, once the tree, CHANGELOG.md and the tests are in order: make release VERSION=v0.1.0
	.ci/release tag $(VERSION)
