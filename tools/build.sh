#!/usr/bin/env bash
# Builds into build/ (or $1), with ccache where it is installed: `tools/build.sh [folder] [cmake options ...]`; VXLA_TARGETS
# names the targets, all of them by default.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build}
shift || true
jobs=$(nproc)
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake -S . -B "$folder" -G Ninja "${launcher[@]}" "$@" >/dev/null
# A build that is not seen to move looks hung, so a terminal gets ninja's own progress line; a log gets what went wrong.
if [ -t 1 ]; then
  ninja -C "$folder" -j "$jobs" ${VXLA_TARGETS:-}
else
  ninja -C "$folder" -j "$jobs" --quiet ${VXLA_TARGETS:-}
fi
