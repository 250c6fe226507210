#!/usr/bin/env bash
# Prints docs/internals/isa.md's tables: what AMD's compiler of Mesa (RADV) makes of a list of kernels, on null hardware: no GPU
# is needed, and nothing runs. `tools/isa_report.sh [family ...]`, by default navi31, navi21 and vega10;
# `tools/isa_report.sh --write` puts all of them into docs/internals/data, of which the page is made;
# `tools/isa_report.sh --spills PROGRAM ...` counts the kernels of other programs and names those that keep vector
# registers in memory or have more than 32 KiB of code (it fails then).
# By two drivers: the 25.0.7 of Debian's bookworm-backports where apt-get gets it (unpacked below build/radv, the system
# is left alone) and the installed one.
set -euo pipefail
cd "$(dirname "$0")/.."
vxla=${VXLA:-build/vxla}
mode=print programs=()
case ${1:-} in
  --write) mode=write; shift ;;
  --spills) mode=spills; shift; programs=("$@"); set -- ;;
esac
[ $mode != write ] || [ $# = 0 ] || { echo "isa_report: --write is of all families: $*" >&2; exit 2; }
[ $mode != spills ] || [ ${#programs[@]} -gt 0 ] || { echo "isa_report: --spills of which programs?" >&2; exit 2; }
families=("$@")
[ $# -gt 0 ] || families=(navi31 navi21 vega10)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x "$vxla" ] || { echo "isa_report: $vxla is missing: tools/build.sh" >&2; exit 1; }

# The manifest of the backported driver; nothing where it cannot be had.
newer_driver() {
  local folder=$PWD/build/radv manifest
  manifest=$folder/radeon_icd.json
  if [ ! -e "$manifest" ]; then
    mkdir -p "$folder/lists/partial"
    local archive  # the mirror that this system takes bookworm from
    archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Release: bookworm' | sed -n 1p)
    [ -n "$archive" ] || return 0
    printf 'Types: deb\nURIs: %s\nSuites: bookworm-backports\nComponents: main\nSigned-By: %s\n' "$archive" \
      /usr/share/keyrings/debian-archive-keyring.gpg >"$folder/backports.sources"
    local apt=(apt-get -qq -o Dir::Etc::sourcelist="$folder/backports.sources" -o Dir::Etc::sourceparts=-
      -o Dir::State::Lists="$folder/lists")
    (cd "$folder" && "${apt[@]}" update && "${apt[@]}" download mesa-vulkan-drivers) >/dev/null 2>&1 || return 0
    dpkg -x "$folder"/mesa-vulkan-drivers_*.deb "$folder/files"
    local library
    library=$(find "$folder/files" -name libvulkan_radeon.so)
    sed "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$library\"|" \
      "$(find "$folder/files" -name 'radeon_icd*.json')" >"$manifest"
  fi
  echo "$manifest"
}

# The kernels of `vxla bench kernels`.
"$vxla" bench kernels --list --json | python3 -c 'import json, sys
for case in json.load(sys.stdin):
    open(sys.argv[1] + "/" + case["name"] + ".hlo", "w").write(case["hlo"])' "$work"

compile() {  # manifest, family, program: into $work/isa, or fails with a message in $work/log
  rm -rf "$work/isa"
  VK_DRIVER_FILES=$1 VK_ICD_FILENAMES=$1 RADV_FORCE_FAMILY=$2 MESA_SHADER_CACHE_DISABLE=true \
    "$vxla" explain "$3" --bindings=addresses --no-cache --isa "$work/isa" >"$work/log" 2>&1
}

report() {  # title, manifest, families
  local manifest=$2 title=$1 family name
  shift 2
  for family in "$@"; do
    printf '\n## %s, %s\n\n' "$family" "$title"
    echo '| kernel | lanes | vgpr | waves | spill | code | part | valu | fma, mul, add | slow | ld | st | ds | wait |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|'
    for name in "$work"/*.hlo; do
      if ! compile "$manifest" "$family" "$name"; then
        echo "| $(basename "$name" .hlo) | $(tail -1 "$work/log") |"
        continue
      fi
      for file in "$work"/isa/*.isa; do
        awk -v name="$(basename "$name" .hlo) $(basename "$file" | sed 's/^[0-9]*_//;s/_[0-9a-f]*\.isa$//')" -f tools/isa_count.awk "$file"
      done
    done
  done
}

spills() {  # title, manifest, families
  local manifest=$2 title=$1 family program kernels faults
  shift 2
  for family in "$@"; do
    kernels=0
    for program in "${programs[@]}"; do
      if ! compile "$manifest" "$family" "$program"; then
        echo "$family, $title: $program: $(tail -1 "$work/log")"
        spilled=1
        continue
      fi
      for file in "$work"/isa/*.isa; do
        [ -e "$file" ] || continue
        kernels=$((kernels + 1))
        faults=$(awk '!/^; / { exit } /^; Spilled VGPRs = / && $5 > 0 { printf " %s vector registers in memory", $5 }
          /^; Scratch size = / && $5 > 0 { printf " %s bytes of scratch", $5 }
          /^; Code size = / && $5 > 32768 { printf " %s bytes of code", $5 }' "$file")
        [ -z "$faults" ] || { echo "$family, $title: $program: $(basename "$file"):$faults"; spilled=1; }
      done
    done
    echo "$family, $title: $kernels kernels"
  done
}
spilled=0

newer=$(newer_driver)
installed=$(find /usr/share/vulkan/icd.d -name 'radeon_icd*.json' 2>/dev/null | head -1)
if [ -z "$newer$installed" ]; then
  echo "isa_report: no RADV: neither installed (Debian: apt install mesa-vulkan-drivers) nor to be had by apt-get" >&2
  exit 1
fi
[ $mode != write ] || { [ -n "$newer" ] && [ -n "$installed" ]; } ||
  { echo "isa_report: both drivers are needed, only one is there: $newer$installed" >&2; exit 1; }
what=report
[ $mode != spills ] || what=spills
by_each() {
  [ -z "$newer" ] || $what "RADV of bookworm-backports" "$newer" "${families[@]}"
  # The older driver calls RDNA3 gfx1100.
  [ -z "$installed" ] || $what "the installed RADV" "$installed" "${families[@]/navi31/gfx1100}"
}
if [ $mode = write ]; then
  # A heading and a table each: "## navi31, the installed RADV".
  by_each | awk -v work="$work" '/^## / { sub(/,/, "", $2); file = work "/isa_" $2 "_" (/bookworm-backports/ ? "backports" : "installed") ".md"; next }
    file != "" { print >file }'
  for table in "$work"/isa_*.md; do
    python3 tools/page_data.py rows "docs/internals/data/$(basename "$table" .md).json" <"$table"
  done
  python3 tools/bench_page.py
else
  by_each
fi
exit $spilled
