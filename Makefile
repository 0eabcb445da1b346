# make help lists what there is; .ci/run is the gate that runs all of it.
.DEFAULT_GOAL := help
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
# Inputs for each fuzz target, and for that which has a reactor live through each. With a duration, go test before 1.27 may report
# "context deadline exceeded" as its end (golang/go#75804), most of all on a busy machine.
FUZZTIME ?= 100000x
FUZZTIME_REACTOR ?= 5000x
CROSS := linux/amd64 linux/arm64 linux/386 linux/arm linux/riscv64 windows/amd64 windows/arm64 \
	darwin/amd64 darwin/arm64 freebsd/amd64 netbsd/amd64 openbsd/amd64 dragonfly/amd64

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: ## all tests
	go test ./...

.PHONY: race
race: ## all tests under the race detector
	go test -race ./...

.PHONY: lint
lint: ## gofmt, vet and staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change the files above"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

.PHONY: cross
cross: ## build and vet for every platform
	@set -e; for p in $(CROSS); do \
		echo "cross $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go build ./...; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go vet ./...; done

.PHONY: test-386
test-386: ## the tests on a 32-bit build, which this kernel runs as it is
	GOARCH=386 CGO_ENABLED=0 go test -short -skip 'TLS|Handshake' ./timer ./sched ./syncx ./chanx ./blocking ./reactor/... ./conn/... ./packet # TLS in plain Go takes minutes

.PHONY: test-arm64
test-arm64: ## the lock-free packages on arm64, in Debian's qemu-user (whose memory is as ordered as this machine's)
	GOARCH=arm64 CGO_ENABLED=0 go test -exec qemu-aarch64 -short -skip Allocat ./timer ./sched ./syncx ./chanx ./blocking

.PHONY: kqueue
kqueue: ## the kqueue backend over an emulation of kqueue: its conformance, and the tests of conn and packet (RACE=-race for those)
	go vet -tags kqueue ./reactor/... ./conn ./packet
	go test $(RACE) -tags kqueue ./reactor/internal/kevent
	go test $(RACE) -tags kqueue -run 'Kqueue|Addresses|Conformance/^kqueue' ./reactor
	go test $(RACE) -tags kqueue -short -run '/^kqueue' ./conn ./packet

.PHONY: test-windows
test-windows: ## the tests of the Windows build, and its HTTP example with curl, under Wine (.ci/run says what it needs)
	.ci/windows

.PHONY: oracle
oracle: ## compare the ring layer with giouring, byte for byte and live
	go test -tags giouring -ldflags=-checklinkname=0 ./reactor/internal/uring/

.PHONY: explore
explore: ## every interleaving of the lock-free parts, within bounds, and the mutants it must find
	go test -tags explore ./internal/explore/
	go test -tags explore -run 'Explor|Interleav|Mutant' -timeout 25m ./sched/ ./syncx/ ./chanx/ ./internal/sending/ ./internal/handover/ ./internal/turns/ ./internal/ledger/ ./internal/admission/

.PHONY: model
model: ## the Promela model of parking (needs spin)
	sched/model/check.sh

.PHONY: long
long: ## what takes too long for every run: ten thousand slow readers, TLS in bulk
	go vet -tags long ./conn
	go test -tags long -run 'TenThousand|AThousandHandshakes|AHundredMegabytes' -v ./conn

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each, FuzzSameBytes for FUZZTIME_REACTOR
	@set -e; for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" \
				-fuzztime $$([ $$f = FuzzSameBytes ] && echo $(FUZZTIME_REACTOR) || echo $(FUZZTIME)) $$pkg; done; done

.PHONY: faults
faults: ## the tests in which system calls fail, by our hand and by strace's (needs strace)
	SUIRO_FAULTS=each go test -race -run 'Fault|Strace' ./internal/faults ./reactor ./conn ./packet ./server ./examples/echo

.PHONY: chaos
chaos: ## random actions in all callbacks of conn, for 2000 connections of each case, under the race detector
	SUIRO_CHAOS_CONNS=500 go test -race -count=4 -timeout 30m -run Chaos ./conn

.PHONY: clients
clients: ## redis-benchmark, psql, curl, dig, iperf3, ssh and the like through examples/proxy, on both backends (.ci/run says what it needs)
	.ci/clients

.PHONY: interop
interop: ## gRPC's interop client, WebSocket libraries, fasthttp and h2load, on both backends (needs nghttp2-client)
	.ci/interop

# Flags of interop/std, such as -suite net/http -mode dial -backend epoll; without -short it also looks for leaks, and takes longer.
STD ?= -short
.PHONY: std
std: ## Go's own tests of net, net/http, httptest, httputil and crypto/tls on Suiro (interop/std); not in the gate, ten minutes
	cd interop && nice -n 10 go run ./std $(STD)

.PHONY: bench
bench: ## compare with the peers, all workloads, into bench/RESULTS.md (10 minutes)
	go run ./bench -results bench

.PHONY: quick
quick: ## compare with gnet and net, within a minute
	go run ./bench -quick

.PHONY: guard
guard: ## compare Suiro's ratios to package net with bench/baselines.json: 1 if one is more than 20 % worse
	go run ./bench -guard

.PHONY: proxy
proxy: ## compare what examples/proxy costs with haproxy and nginx (Debian's; some minutes)
	go run ./bench -workloads proxy

.PHONY: page
page: ## look at the proxy's status page with headless Chromium
	examples/proxy/page.sh

.PHONY: micro
micro: ## the Go benchmarks, with medians and percentiles
	go run ./bench/micro
