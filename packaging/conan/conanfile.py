"""Conan 2: the library of this folder's checkout. `conan create packaging/conan`, from the top of the sources. debian12.profile
takes what it needs from Debian."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy


class VxlaConan(ConanFile):
    name = "vxla"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "XLA programs on Vulkan GPUs, compared with a CPU reference"
    topics = ("vulkan", "xla", "jax", "numerics")
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    package_type = "library"

    def export_sources(self):
        top = os.path.join(self.recipe_folder, os.pardir, os.pardir)
        for pattern in ("CMakeLists.txt", "LICENSE", "NOTICE", "api/*", "backend/*", "cmake/*", "core/*", "examples/corpus/*", "include/*",
                        "integrations/*", "packaging/copyright", "scheduler/*", "shaders/*", "tools/*"):
            copy(self, pattern, top, self.export_sources_folder)

    def requirements(self):
        for needed in ("fmt/[>=9]", "shaderc/[>=2023]", "spirv-cross/[>=1.3]"):
            self.requires(needed)
        for needed in ("nlohmann_json/[>=3.11]", "glm/[>=0.9.9]", "cli11/[>=2.1]", "libzip/[>=1.7]", "xxhash/[>=0.8]", "vulkan-headers/[>=1.3]",
                       "spirv-headers/[>=1.3]"):
            self.requires(needed, visible=False)

    def layout(self):
        self.folders.build = "build"
        self.folders.generators = "build/generators"

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(VXLA_BUILD_TESTS=False, VXLA_BUILD_EXAMPLES=False, VXLA_MPI=False,
                                         VXLA_SHARED=bool(self.options.shared))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        # What the component sdk holds.
        cmake.build(target=["vxla_shared", "vxla_runtime_shared"] if self.options.shared else ["vxla_archive", "vxla_runtime_static"])

    def package(self):
        CMake(self).install(component="sdk")

    def package_info(self):
        # vxla's own package for CMake: targets vxla::vxla and vxla::runtime.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/vxla"]
