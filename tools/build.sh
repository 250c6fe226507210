#!/usr/bin/env bash
# Builds into build/ (or $1), with ccache where it is installed: `tools/build.sh [folder | --preset=NAME] [cmake options ...]`; a
# preset of CMakePresets.json names its folder itself, build-NAME. VXLA_TARGETS names the targets, all of them by default.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build}
shift || true
jobs=$(nproc)
launcher=()
if command -v ccache >/dev/null && [ -z "${CCACHE_DISABLE:-}" ]; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
where=(-B "$folder" -G Ninja)
case $folder in
  --preset=default) where=("$folder") folder=build ;;
  --preset=*) where=("$folder") folder=build-${folder#--preset=} ;;
esac
cmake -S . "${where[@]}" "${launcher[@]}" "$@" >/dev/null
# A build that is not seen to move looks hung, so a terminal gets ninja's own progress line; a log gets what went wrong.
if [ -t 1 ]; then
  ninja -C "$folder" -j "$jobs" ${VXLA_TARGETS:-}
else
  ninja -C "$folder" -j "$jobs" --quiet ${VXLA_TARGETS:-}
fi
printf 'Built %s in %d s\n' "$folder" "$SECONDS" >&2
