#!/usr/bin/env bash
# Runs layer.hlo with swish.comp on the device and with swish.cc on the CPU reference, and compares: `run.sh [vxla's options ...]`.
# VXLA names the program, build/vxla of this checkout by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
vxla=${VXLA:-$here/../../build/vxla}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"${CXX:-c++}" -O2 -shared -fPIC "$here/swish.cc" -o "$made/libswish.so"
"$vxla" diff "$here/layer.hlo" --kernel swish="$here/swish.comp" --custom-call swish="$made/libswish.so:swish" "$@"
