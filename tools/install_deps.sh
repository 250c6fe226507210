#!/usr/bin/env bash
# Installs the Debian packages that building, running and testing need. Quick when nothing is missing. Without root it prints the
# line to run and stops with 3. The tests' second Vulkan driver is not installed but unpacked: tools/swiftshader.sh, which
# tools/test.sh calls.
set -euo pipefail

packages=(
  # building
  g++ cmake ninja-build pkg-config git ca-certificates
  libfmt-dev nlohmann-json3-dev libcli11-dev libzip-dev libglm-dev libxxhash-dev liblapack-dev
  # Vulkan: headers, loader, shader compiler, reflection, the software driver
  libvulkan-dev libvulkan1 libshaderc-dev glslang-dev spirv-tools libspirv-cross-c-shared-dev mesa-vulkan-drivers
  # vxla run --distributed
  libopenmpi-dev openmpi-bin
  # examples/renderer: its shaders, its window
  glslang-tools libglfw3-dev
  # tests: GoogleTest, oracles, validation layers, what reads the manual page and the completions
  libgtest-dev libgmock-dev libmpfr-dev libgmp-dev libfftw3-dev libeigen3-dev librandom123-dev vulkan-validationlayers
  groff-base zsh fish
  python3 python3-numpy python3-venv
)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  printf 'These packages are missing; run this and start again:\n\n  sudo apt-get install -y %s\n\n' "${missing[*]}" >&2
  exit 3
fi
printf 'Installing %s\n' "${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
