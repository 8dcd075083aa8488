# Everything Muster needs to be built, tested and shipped. Needed: Go (the version in go.mod) and make; `-race` needs a C
# compiler. Nothing but Go modules is downloaded.
.DEFAULT_GOAL := help
SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c

IMAGE   ?= ghcr.io/muster-sh/muster:dev
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COUNT   ?= 1
FUZZ    ?= 30s
OLD     ?=

TOOL := go tool -modfile=tools/go.mod

.PHONY: help demo build test check e2e nightly cost page pictures peer bench lint vet tidy generate manifests diff fuzz image

help: ## this text
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## the whole story on the built-in simulator: load comes, nodes come, load goes, nodes go
	go run ./cmd/muster demo

build: ## bin/muster, static
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o bin/muster ./cmd/muster

test: ## all unit tests under the race detector
	go test -race -timeout 30m ./...

check: tidy diff vet lint test ## what CI runs before the end-to-end stories

e2e: ## build a real control plane from Go modules and run every story against it
	$(MAKE) -C test/e2e all

nightly: ## what takes too long for every change (2 hours): plans kept on 200 clusters, a thousand releases in each mode, all of fidelity
	$(MAKE) -C test/e2e build nightly

cost: ## fail where a plan costs more than Karpenter's for the same pods
	$(MAKE) -C test/bench test

page: ## look at the page of `muster replay --html` in a browser without a screen; needs chromium
	cd test/browser && go test ./...

# Pictures that documents show. They change with the page and with what the replays come to.
DAY := --manifests testdata/replay/shaped/apps.yaml --shape testdata/replay/shaped/day.yaml --pools testdata/replay/pools.yaml --seed 7

pictures: ## the pictures of docs/replay.md; needs chromium
	go run ./cmd/muster replay $(DAY) --html bin/now.html
	go run ./cmd/muster replay $(DAY) --sweep idleAfter=1m,5m,10m,20m,40m,2h --html bin/compare.html
	cd test/browser && go run ./shoot ../../bin/now.html 'section:has(#lanes)' ../../docs/pictures/machines.png
	cd test/browser && go run ./shoot ../../bin/compare.html '#tradeoff-section' ../../docs/pictures/curve.png

peer: ## our IPMI against OpenIPMI's ipmi_sim and ipmitool (Debian: openipmi, ipmitool)
	go vet -tags peer ./provider/host/ipmi
	go test -tags peer -run AnotherMaker -count=1 ./provider/host/ipmi

bench: ## all benchmarks; COUNT=10 OLD=file compares with an earlier run (beside Karpenter: make -C test/bench bench)
	@mkdir -p bin
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee bin/bench.txt
	$(TOOL) benchstat $(OLD) bin/bench.txt

lint: ## golangci-lint as .golangci.yml says
	$(TOOL) golangci-lint run --allow-parallel-runners ./...
	for dir in test/e2e test/bench test/browser; do (cd $$dir && \
		go tool -modfile=../../tools/go.mod golangci-lint run --allow-parallel-runners --config ../../.golangci.yml ./...); done

vet:
	go vet ./...

tidy:
	go mod tidy -diff
	cd tools && go mod tidy -diff
	for dir in test/bench test/browser test/e2e test/e2e/fidelity test/e2e/kube test/e2e/etcd test/e2e/kwok; do (cd $$dir && go mod tidy -diff); done

generate: ## deep copies of the API types
	$(TOOL) controller-gen object paths=./api/v1alpha1

manifests: generate ## the CRDs in deploy/crds
	$(TOOL) controller-gen crd paths=./api/v1alpha1 output:crd:dir=deploy/crds
	go run ./deploy/crds/bound deploy/crds

# Generated files must be the ones that were committed.
diff: manifests
	git diff --exit-code -- api deploy/crds

fuzz: ## every fuzz test for FUZZ=30s
	@grep -rlE '^func Fuzz' --include='*_test.go' --exclude-dir=e2e . | while read -r file; do \
		for name in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$file" | sed 's/func //'); do \
			go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZ) "./$$(dirname "$$file")"; \
		done; \
	done

image: ## the container image (IMAGE=...), with docker or what DOCKER names
	$${DOCKER:-docker} build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) -t $(IMAGE) .
