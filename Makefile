# make          builds the library for every MPI found, and the `nagare` command
# make demo     installs missing Debian packages, builds, and shows stock MPI beside Nagare
# make test     installs what the tests need and runs all of them
# make check    formatting, lints, documentation, generated files
# make bench    the tables and plots of docs/benchmarks.md; more than an hour
# make kernels  FT and IS on two emulated clusters, stock and Nagare in turn; a few minutes
# make conformance   mpi4py's own tests with Nagare and without on four MPIs, compared test by test
# make fuzz     random MPI programs on four MPIs, every result computed a second time; some ten minutes
# make soak     100 000 communicators, a million calls, threads, valgrind, sanitizers: what grows; an hour
# make compatibility-tests   the integration tests, noting what their programs have verified
# make compatibility   the table of what these ran (docs/compatibility.md)
# make licences      the table of dependencies (docs/licences.md)
# make audit         advisories about dependencies; needs cargo-deny or cargo-audit, and a network
# make fuzz-parsers  everything that users write, garbled, three times as many cases as the tests have; about a minute
# make instructions   counts the instructions of a call that is passed on (callgrind)

SHELL := bash
CARGO := cargo
TRUST = $(CARGO) run --quiet --target-dir target -p nagare-trust --
# Compiler wrappers by family; a plain mpicc serves where there are none of these names.
WRAPPERS := $(foreach f,openmpi mpich,$(if $(shell command -v mpicc.$(f)),$(f)))

.PHONY: build demo bench kernels test test-unit test-mpi test-trust conformance fuzz soak compatibility compatibility-tests check licences audit fuzz-parsers instructions packages-build packages-test FORCE

build: $(foreach f,$(WRAPPERS),target/$(f)/release/libnagare.so target/$(f)/release/nagare-bench) target/release/nagare
ifeq ($(WRAPPERS),)
	@family=$$(scripts/mpi-family.sh mpicc) && \
	  MPICC=mpicc $(CARGO) build --release --target-dir target/$$family && echo "built target/$$family/release/libnagare.so"
endif

target/%/release/libnagare.so: FORCE
	@MPICC=mpicc.$* $(CARGO) build --quiet --release -p nagare --target-dir target/$*
	@echo "built $@"

target/%/release/nagare-bench: FORCE
	@MPICC=mpicc.$* $(CARGO) build --quiet --release -p nagare-bench --features program --target-dir target/$*
	@echo "built $@"

target/release/nagare: FORCE
	@$(CARGO) build --quiet --release -p nagare-cli --target-dir target
	@echo "built $@"

demo: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh

bench: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/bench.sh

kernels: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/kernels.sh

test: packages-build packages-test
	@$(MAKE) --no-print-directory build
	@scripts/python-mpis.sh
	@$(MAKE) --no-print-directory test-unit test-mpi test-trust

# Separate, since what is installed above decides WRAPPERS.
test-unit:
	$(CARGO) test --no-fail-fast --workspace --exclude nagare --target-dir target

test-mpi:
	MPICC=$(firstword $(addprefix mpicc.,$(WRAPPERS)) mpicc) $(CARGO) test --no-fail-fast -p nagare --target-dir target

# What the three below run, in a few minutes.
test-trust:
	@for command in conformance fuzz soak; do $(TRUST) $$command --quick || exit 1; done

conformance fuzz soak compatibility-tests: packages-build packages-test
	@$(MAKE) --no-print-directory build
	@scripts/python-mpis.sh
	@$(TRUST) $(@:compatibility-%=%)
	@$(MAKE) --no-print-directory compatibility

compatibility:
	@$(TRUST) table > docs/compatibility.md.new && mv docs/compatibility.md.new docs/compatibility.md

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --exclude nagare --all-targets --target-dir target -- -D warnings
	@for family in $(WRAPPERS); do \
	  echo "clippy for $$family"; \
	  MPICC=mpicc.$$family $(CARGO) clippy --quiet -p nagare --all-targets --target-dir target/$$family -- -D warnings && \
	  MPICC=mpicc.$$family $(CARGO) clippy --quiet -p nagare-bench --features program --all-targets --target-dir target/$$family -- -D warnings || exit 1; done
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --exclude nagare --no-deps --document-private-items --target-dir target
	RUSTDOCFLAGS="-D warnings" MPICC=mpicc.$(firstword $(WRAPPERS)) $(CARGO) doc --quiet -p nagare --no-deps --document-private-items --target-dir target/$(firstword $(WRAPPERS))
	$(CARGO) run --quiet --target-dir target -p nagare-cli -- env --markdown | diff -u docs/environment.md - || \
	  { echo "docs/environment.md is not current: nagare env --markdown > docs/environment.md"; exit 1; }
	@set -o pipefail; $(CARGO) run --quiet --target-dir target -p nagare-trust -- licences | diff -u docs/licences.md - || \
	  { echo "docs/licences.md is not current (make licences), or names a licence that is not allowed"; exit 1; }
	@set -o pipefail; $(CARGO) run --quiet --target-dir target -p nagare-trust -- table | diff -u docs/compatibility.md - || \
	  { echo "docs/compatibility.md is not current: make compatibility"; exit 1; }

fuzz: fuzz-parsers

# The tests of all parsers with three times as many cases.
fuzz-parsers: export GARBLE_TIMES = 3
fuzz-parsers:
	$(CARGO) test --quiet --target-dir target -p nagare-plan -p nagare-config -p nagare-testbed -p nagare-bench --test 'parsers*'
	$(CARGO) test --quiet --target-dir target -p nagare-cli --bin nagare parsers

licences:
	@$(TRUST) licences > docs/licences.md.new && mv docs/licences.md.new docs/licences.md

audit:
	@scripts/audit.sh

instructions: build
	@scripts/instructions.sh

packages-build:
	@scripts/install-packages.sh build

packages-test:
	@scripts/install-packages.sh test
