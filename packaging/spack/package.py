"""Recipe of Nagare for Spack 1. Put it into packages/nagare/ of a repository of your own: docs/administrators.md."""

import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Nagare(MakefilePackage):
    """MPI interposition library: collective communication that knows the network, under unmodified programs."""

    # The archive that `make dist` writes, in the directory where Spack is started.
    manual_download = True
    url = f"file://{os.getcwd()}/nagare-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("llvm+clang", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")

    def setup_build_environment(self, env):
        # What makes the bindings of mpi.h loads libclang.
        env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def build(self, spec, prefix):
        make("WRAPPERS=", f"MPICC={spec['mpi'].mpicc}")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")
