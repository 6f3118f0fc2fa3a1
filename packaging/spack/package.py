"""Spack's recipe for tern. tern has no public archive of releases, so say where the source tree is:

    spack dev-build --source-path /path/to/tern tern@0.2.0

It is for Spack 1.0 and later, whose build systems are in the repository of packages.
"""

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Tern(CMakePackage):
    """Notified one-sided transfer, remote invocation and distributed containers for MPI-3 programs."""

    license("BSD-3-Clause")

    version("0.2.0")

    variant("ofi", default=True, description="Networks by libfabric, without MPI")
    variant("verbs", default=True, description="Networks by libibverbs, without MPI")
    variant("cuda", default=False, description="Build the CUDA example")

    depends_on("c", type="build")
    depends_on("fortran", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hwloc@2:")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("libfabric@1.15:", when="+ofi")
    depends_on("rdma-core", when="+verbs")
    depends_on("cuda", when="+cuda")
    depends_on("cunit", type="test")

    conflicts("platform=darwin", msg="tern runs on Linux only")
    conflicts("platform=windows", msg="tern runs on Linux only")

    def cmake_args(self):
        mpi = self.spec["mpi"]
        return [
            self.define("MPI_C_COMPILER", mpi.mpicc),
            self.define("MPI_Fortran_COMPILER", mpi.mpifc),
            self.define("BUILD_TESTING", self.run_tests),
            self.define_from_variant("TERN_CUDA", "cuda"),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", join_path(self.spec["tern"].libs.directories[0], "python"))

    @property
    def libs(self):
        return find_libraries("libtern", root=self.prefix, shared=True, recursive=True)
