# SPDX-License-Identifier: Apache-2.0

# The modules with Go packages, the product first. flux and tools hold none of their
# own: they are lists of programs to build, and building them is their test.
MODULES := . controlplane test/e2e
TOOLS   := bin/tools
# Minors beside the newest that the control plane builds as.
KUBERNETES := 1.35 1.34
FUZZTIME   ?= 30s

.PHONY: demo build test test-kubernetes test-unit lint verify generate fuzz bench bench-fleet bench-validate bench-onboard bench-admission bench-audit bench-test clean help

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

demo: build ## Build what is missing and run the example fleet once
	./bin/tenantry up --fleet examples/fleet --once

build: ## Build the program into bin/
	@test -x bin/tenantry || echo "build bin/tenantry; the first time this takes a minute or two"
	@go build -buildvcs=false -o bin/tenantry ./cmd/tenantry

# lint vets; vetting here too would have Kubernetes itself vetted as a dependency.
test: ## Run every test of every module
	@for m in $(MODULES); do \
		echo "== test $$m"; \
		(cd $$m && go test -vet=off -timeout 60m -p 1 ./...) || exit 1; \
	done

test-kubernetes: ## Hold the policies to their tables on older Kubernetes too
	@for v in $(KUBERNETES); do \
		echo "== Kubernetes $$v"; \
		TENANTRY_KUBERNETES=$$v go test -vet=off -timeout 60m -count 1 ./internal/policy || exit 1; \
	done

test-unit: ## Run the tests that need no API server
	go test -short ./...

lint: $(TOOLS)/golangci-lint ## Check style and likely mistakes
	@files=$$(gofmt -l .); test -z "$$files" || { echo "gofmt would change these files:"; echo "$$files"; exit 1; }
	@for m in $(MODULES); do echo "== lint $$m"; (cd $$m && $(CURDIR)/$(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...) || exit 1; done

generate: $(TOOLS)/controller-gen ## Write what is generated
	$(TOOLS)/controller-gen object:headerFile=tools/boilerplate.go.txt crd paths=./api/... output:crd:dir=config/crd
	go run ./hack/bundle
	go run ./hack/schemas
	go build -buildvcs=false -o bin/tenantry ./cmd/tenantry
	./bin/tenantry install --export --part walls > examples/fleet/infrastructure/tenantry/walls/walls.yaml
	./bin/tenantry install --export --part grants > examples/fleet/infrastructure/tenantry/grants/grants.yaml
	go run ./hack/reference

verify: ## See that what is generated is up to date
	@state() { git status --porcelain; git diff | sha256sum; }; before=$$(state); \
	$(MAKE) --no-print-directory generate >/dev/null && after=$$(state); \
	if [ "$$before" != "$$after" ]; then git --no-pager diff --stat; echo "generated files were out of date: commit what make generate wrote"; exit 1; fi

fuzz: ## Fuzz whatever parses, FUZZTIME (30s) each
	@grep -rl --include='*fuzz_test.go' '^func Fuzz' internal | while read f; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$f); do \
			echo "== $$(dirname $$f) $$target"; \
			go test -vet=off -short -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x ./$$(dirname $$f) || exit 1; \
		done; done

bench: bench-fleet bench-validate bench-onboard bench-admission bench-audit bench-test ## Run every benchmark

bench-fleet: ## Fleets read and changed, of 100 to 10,000 tenants
	go test -vet=off -run '^$$' -bench . -benchtime 5x ./internal/fleet

# Others' tools, built apart: what they need of Kubernetes is of another version.
KUSTOMIZE = sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
KUBECTL_VALIDATE = sigs.k8s.io/kubectl-validate@v0.0.4

bench-validate: build ## Fleets checked, against kustomize and a validator one by one
	GOBIN=$(abspath $(TOOLS)) go install $(KUSTOMIZE)
	GOBIN=$(abspath $(TOOLS)) go install $(KUBECTL_VALIDATE)
	TENANTRY_TOOLS=$(abspath $(TOOLS)) go test -vet=off -run '^$$' -bench 'Example|Program|OneByOne' -benchtime 3x -timeout 30m ./internal/lint
	go test -vet=off -run '^$$' -bench Fleet -benchtime 3x -timeout 30m ./internal/lint

bench-test: build ## The example fleet's two clusters in turn and at once, with attacks
	@for n in 1 2 1 2; do echo "== --parallel $$n"; ./bin/tenantry test examples/fleet --parallel $$n 2>/dev/null | tail -1; done

bench-onboard: build ## Tenants from apply to Ready, against raw writes
	cd test/e2e && go build -buildvcs=false -o ../../bin/bench ./bench
	./bin/bench onboard

bench-admission: build ## A write in a tenant's namespace, against a plain one
	cd test/e2e && go build -buildvcs=false -o ../../bin/bench ./bench
	./bin/bench admission

bench-audit: build ## The isolation suite on a hundred tenants, against one
	cd test/e2e && go build -buildvcs=false -o ../../bin/bench ./bench
	./bin/bench audit

$(TOOLS)/%: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	@echo "build $*"
	@cd tools && go build -buildvcs=false -o ../$@ $$(go list -f '{{.ImportPath}}' tool | grep "/$*$$")

clean: ## Remove what was built here
	rm -rf bin
