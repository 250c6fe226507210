# Conan with Debian 12's own packages for what vxla needs, and nothing from a remote:
#   conan create packaging/conan -pr:a packaging/conan/debian12.profile
[settings]
os=Linux
arch=x86_64
build_type=Release
compiler=gcc
compiler.version=12
compiler.cppstd=20
compiler.libcxx=libstdc++11

[platform_requires]
fmt/9.1.0
shaderc/2023.2
spirv-cross/1.3.239
nlohmann_json/3.11.2
glm/0.9.9.8
cli11/2.1.2
libzip/1.7.3
xxhash/0.8.1
vulkan-headers/1.3.239
spirv-headers/1.3.239
