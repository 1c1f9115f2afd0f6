# make          builds the library for every MPI found, and the `nagare` command
# make install  puts what `make` has built below PREFIX (/usr/local), by way of DESTDIR; docs/install.md
# make uninstall   removes it
# make dist     the sources of the last commit as target/nagare-VERSION.tar.gz
# make deb      a Debian package in target/, of what `make` builds
# make slurm    Slurm's plugin, target/nagare_spank.so, which `make install` then installs too; needs slurm/spank.h
# make demo     installs missing Debian packages, builds, and shows stock MPI beside Nagare
# make test     installs what it needs, runs what must pass before a change lands; 18 minutes on two slow cores
# make test-all the tests that take long as well, and all cases of the others
# make check    formatting, lints, documentation, generated files
# make bench    the tables and plots of docs/benchmarks/tables.md; more than an hour
# make bench-unknown   networks drawn at random, which nothing was fitted to, as series of calls; two hours
# make kernels  FT and IS on two emulated clusters, stock and Nagare in turn; a few minutes
# make conformance   mpi4py's own tests with Nagare and without on four MPIs, compared test by test
# make fuzz     random MPI programs on four MPIs, every result computed a second time; some ten minutes
# make soak     100 000 communicators, a million calls, threads, valgrind, sanitizers: what grows; an hour
# make compatibility-tests   the integration tests, noting what their programs have verified
# make compatibility   the table of what these ran (docs/compatibility.md)
# make licences      the table of dependencies (docs/licences.md)
# make audit         advisories about dependencies; needs cargo-deny or cargo-audit, and a network
# make fuzz-parsers  everything that users write, mutated, three times as many cases as the tests have; about a minute
# make startup    what a job's start costs, without Nagare, switched off and with it, on every MPI; some ten minutes
# make waiting    what a rank costs that waits for a late one, on every MPI; five minutes
# make instructions   counts the instructions of a segment, and of a call that is passed on (callgrind)

SHELL := bash
CARGO := cargo
# Compiler wrappers by family; a plain mpicc serves where there are none of these names.
WRAPPERS := $(foreach f,openmpi mpich,$(if $(shell command -v mpicc.$(f)),$(f)))

.PHONY: build libraries demo bench bench-unknown kernels instructions startup waiting packages-build packages-test FORCE
.PHONY: check check-installed test test-installed test-all test-all-installed fuzz-parsers licences audit
.PHONY: conformance fuzz soak compatibility compatibility-tests
.PHONY: install uninstall dist deb slurm packages-slurm

MPICC ?= $(firstword $(addprefix mpicc.,$(WRAPPERS)) mpicc)
# Commands of the workspace, with the same dependencies as its tests.
COMMAND = MPICC=$(MPICC) $(CARGO) build --quiet --workspace --target-dir target --bin

build: $(foreach f,$(WRAPPERS),target/$(f)/release/libnagare.so target/$(f)/release/nagare-bench)
build: target/release/nagare target/notices.txt
ifeq ($(WRAPPERS),)
	@family=$$(scripts/mpi-family.sh $(MPICC)) && \
	  MPICC=$(MPICC) $(CARGO) build --release -p nagare --target-dir target/$$family && \
	  MPICC=$(MPICC) $(CARGO) build --release -p nagare-bench --features program --target-dir target/$$family && \
	  echo "built target/$$family/release/libnagare.so"
endif

target/%/release/libnagare.so: FORCE
	@$(if $(filter $*,$(firstword $(WRAPPERS))),, \
	  scripts/share-build.sh target/$(firstword $(WRAPPERS))/release target/$*/release)
	@MPICC=mpicc.$* $(CARGO) build --quiet --release -p nagare --target-dir target/$*
	@echo "built $@"

target/%/release/nagare-bench: FORCE
	@MPICC=mpicc.$* $(CARGO) build --quiet --release -p nagare-bench --features program --target-dir target/$*
	@echo "built $@"

target/release/nagare: FORCE
	@$(CARGO) build --quiet --release -p nagare-cli --target-dir target
	@echo "built $@"

target/notices.txt: Cargo.lock scripts/notices.sh
	@mkdir -p target && scripts/notices.sh > $@.new && mv $@.new $@

# What there is, so that root builds nothing.
install uninstall:
	@scripts/install.sh $@

dist:
	@scripts/dist.sh

deb: build
	@scripts/deb.sh

slurm: target/nagare_spank.so

target/nagare_spank.so: packaging/slurm/nagare_spank.c
	@mkdir -p target && cc -std=c11 -Wall -Wextra -O2 -fPIC -shared -o $@ $<
	@echo "built $@"

demo: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh

bench: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/bench.sh

bench-unknown: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/bench-unknown.sh target/unknown

kernels: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/kernels.sh

# What jobs of the tests preload, what `nagare bench` starts, and what an installation has besides.
libraries: target/notices.txt
libraries: $(foreach f,$(WRAPPERS),target/$(f)/release/libnagare.so)
libraries: $(foreach f,$(firstword $(WRAPPERS)),target/$(f)/release/nagare-bench)

test-all: packages-slurm

# Make starts again, since what is installed decides WRAPPERS.
test test-all: packages-build packages-test
	@$(MAKE) --no-print-directory $@-installed

test-installed:
	@MPICC=$(MPICC) scripts/test.sh

test-all-installed:
	@MPICC=$(MPICC) scripts/test.sh --all

conformance fuzz soak compatibility-tests: packages-build packages-test
	@$(MAKE) --no-print-directory build
	@scripts/python-mpis.sh
	@$(COMMAND) nagare-verify && target/debug/nagare-verify $(@:compatibility-%=%)
	@$(MAKE) --no-print-directory compatibility

compatibility:
	@$(COMMAND) nagare-verify && target/debug/nagare-verify table > docs/compatibility.md.new && \
	  mv docs/compatibility.md.new docs/compatibility.md

check: packages-build
	@$(MAKE) --no-print-directory check-installed

check-installed:
	@MPICC=$(MPICC) scripts/check.sh $(WRAPPERS)

fuzz: fuzz-parsers

# The tests of all parsers with three times as many cases.
fuzz-parsers: export MUTATE_TIMES = 3
fuzz-parsers:
	$(CARGO) test --quiet --target-dir target -p nagare-plan -p nagare-config -p nagare-testbed -p nagare-bench \
	  --test 'parsers*'
	$(CARGO) test --quiet --target-dir target -p nagare-cli --bin nagare parsers

licences:
	@$(COMMAND) nagare-verify && target/debug/nagare-verify licences > docs/licences.md.new && \
	  mv docs/licences.md.new docs/licences.md

audit:
	@scripts/audit.sh

startup: build
	@scripts/startup.sh

waiting: build
	@scripts/waiting.sh

instructions: build
	@scripts/instructions.sh

packages-build:
	@scripts/install-packages.sh build

packages-test:
	@scripts/install-packages.sh test

packages-slurm:
	@scripts/install-packages.sh slurm
