#!/usr/bin/env bash
# Builds the packages into dist/: `tools/package.sh [FOLDER_OF_THE_BUILD]`. vxla, libvxla0.1 and libvxla-dev as .deb, the same parts as
# .tar.gz. MPI is left out: everyone would get it for `vxla run --distributed`.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build-package}
tools/install_deps.sh package
command -v dpkg-shlibdeps >/dev/null || { printf 'package.sh: dpkg-shlibdeps is missing (Debian: dpkg-dev)\n' >&2; exit 3; }
VXLA_TARGETS="vxla vxla_shared vxla_runtime_shared" tools/build.sh "$folder" -DVXLA_BUILD_TESTS=OFF -DVXLA_BUILD_EXAMPLES=OFF -DVXLA_MPI=OFF \
  -DCMAKE_INSTALL_PREFIX=/usr
mkdir -p dist
cpack --config "$folder/CPackConfig.cmake" -G 'DEB;TGZ' -B "$folder/packages" >"$folder/packages.log" 2>&1 ||
  { tail -n 30 "$folder/packages.log" >&2; exit 1; }
rm -f dist/*.deb dist/vxla-*.tar.gz
cp "$folder"/packages/*.deb "$folder"/packages/*.tar.gz dist/
for package in dist/*.deb; do
  printf '%s: needs %s\n' "$package" "$(dpkg-deb -f "$package" Depends)"
done
