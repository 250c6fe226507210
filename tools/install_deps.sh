#!/usr/bin/env bash
# Installs the Debian packages that building (`tools/install_deps.sh build`, the default), testing (`test`), the wheel (`wheel`), the .deb packages
# (`package`) or the runtime for Windows (`windows`) needs; all of these include building. Quick when nothing is missing. Without root it prints the line to run and stops with 3. A system without dpkg is told what is
# needed, and the caller goes on: CMake says what it does not find. The tests' second Vulkan driver is not installed but unpacked:
# tools/swiftshader.sh, which tools/test.sh calls.
set -euo pipefail

build=(
  g++ cmake ninja-build
  libfmt-dev nlohmann-json3-dev libcli11-dev libzip-dev libglm-dev libxxhash-dev liblapack3
  # Vulkan: headers, loader, shader compiler, reflection, the software driver
  libvulkan-dev libvulkan1 libshaderc-dev glslang-dev spirv-headers spirv-tools libspirv-cross-c-shared-dev mesa-vulkan-drivers
  # examples: the renderer's shaders, what reads JSON and writes pictures
  glslang-tools python3 python3-numpy
)
test=(
  # GoogleTest, oracles, validation layers, the allocator of tools/test.sh
  libgtest-dev libgmock-dev libmpfr-dev libgmp-dev libfftw3-dev libeigen3-dev librandom123-dev vulkan-validationlayers libjemalloc2
  # vxla run --distributed, the window of examples/renderer, what reads the manual page, the completions and the pkg-config file, JAX
  libopenmpi-dev openmpi-bin libglfw3-dev groff-base zsh fish pkg-config python3-venv ca-certificates
)

case ${1:-build} in
  build) packages=("${build[@]}") ;;
  test) packages=("${build[@]}" "${test[@]}") ;;
  wheel) packages=("${build[@]}" python3-venv ca-certificates) ;;
  package) packages=("${build[@]}" dpkg-dev fakeroot file) ;;
  windows) packages=("${build[@]}" g++-mingw-w64-x86-64-posix wine64 xvfb xauth) ;;
  *) printf 'install_deps.sh: %s is none of build, test, wheel, package, windows\n' "$1" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  printf 'This system has no dpkg, so nothing is installed. Wanted, by their names in Debian 12:\n\n  %s\n\n' "${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  printf 'These packages are missing; run this and start again:\n\n  sudo apt-get install -y --no-install-recommends %s\n\n' "${missing[*]}" >&2
  exit 3
fi
printf 'Installing %s\n' "${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
