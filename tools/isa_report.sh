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

sum='sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }'
program() { printf '%s\n' "$2" >"$work/$1.hlo"; }
binary() {  # name, type, size
  program "$1" "ENTRY e { a = $2[$3] parameter(0)  b = $2[$3] parameter(1)  ROOT r = $2[$3] add(a, b) }"
}
rows() {  # name, what ends a program of f32[4096,1024] p
  program "$1" "$sum
ENTRY e { p = f32[4096,1024] parameter(0)  z = f32[] constant(0)  i = f32[] constant(-inf)
  $2 }"
}
dot() {  # name, size, type, result type
  program "$1" "ENTRY e { a = $3[$2,$2] parameter(0)  b = $3[$2,$2] parameter(1)
  ROOT r = $4[$2,$2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
}
binary add_f32_16M f32 16777216
binary add_f16_16M f16 16777216
binary add_bf16_16M bf16 16777216
program tanh_ab_c_16M 'ENTRY e { a = f32[16777216] parameter(0)  b = f32[16777216] parameter(1)
  c = f32[16777216] parameter(2)  m = f32[16777216] multiply(a, b)  s = f32[16777216] add(m, c)
  ROOT r = f32[16777216] tanh(s) }'
program sum_16M "$sum
ENTRY e { a = f32[16777216] parameter(0)  z = f32[] constant(0)  ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=sum }"
program column_sum_4096 "$sum
ENTRY e { a = f32[4096,4096] parameter(0)  z = f32[] constant(0)
  ROOT r = f32[4096] reduce(a, z), dimensions={0}, to_apply=sum }"
program softmax_4096 "$sum
ENTRY e { a = f32[4096,4096] parameter(0)  z = f32[] constant(0)  i = f32[] constant(-inf)
  m = f32[4096] reduce(a, i), dimensions={1}, to_apply=max  mb = f32[4096,4096] broadcast(m), dimensions={0}
  d = f32[4096,4096] subtract(a, mb)  x = f32[4096,4096] exponential(d)
  s = f32[4096] reduce(x, z), dimensions={1}, to_apply=sum  sb = f32[4096,4096] broadcast(s), dimensions={0}
  ROOT r = f32[4096,4096] divide(x, sb) }"
program transpose_4096 'ENTRY e { a = f32[4096,4096] parameter(0)  ROOT r = f32[4096,4096] transpose(a), dimensions={1,0} }'
rows row_sum_4096 'ROOT r = f32[4096] reduce(p, z), dimensions={1}, to_apply=sum'
rows layer_norm_4096 'n = f32[] constant(1024)  n1 = f32[4096] broadcast(n), dimensions={}
  s = f32[4096] reduce(p, z), dimensions={1}, to_apply=sum  m = f32[4096] divide(s, n1)
  mb = f32[4096,1024] broadcast(m), dimensions={0}  d = f32[4096,1024] subtract(p, mb)
  q = f32[4096,1024] multiply(d, d)  v = f32[4096] reduce(q, z), dimensions={1}, to_apply=sum
  w = f32[4096] divide(v, n1)  e = f32[] constant(1e-5)  eb = f32[4096] broadcast(e), dimensions={}
  u = f32[4096] add(w, eb)  t = f32[4096] rsqrt(u)  tb = f32[4096,1024] broadcast(t), dimensions={0}
  ROOT r = f32[4096,1024] multiply(d, tb)'
rows gelu_4096 'h = f32[] constant(0.5)  hb = f32[4096,1024] broadcast(h), dimensions={}
  k = f32[] constant(0.70710678)  kb = f32[4096,1024] broadcast(k), dimensions={}  l = f32[4096,1024] multiply(p, kb)
  f = f32[4096,1024] erf(l)  o = f32[] constant(1)  ob = f32[4096,1024] broadcast(o), dimensions={}
  g = f32[4096,1024] add(f, ob)  j = f32[4096,1024] multiply(p, hb)  ROOT r = f32[4096,1024] multiply(j, g)'
rows cumsum_4096 'ROOT r = f32[4096,1024] reduce-window(p, z), window={size=1x1024 pad=0_0x1023_0}, to_apply=sum'
program max_pool_112 "$sum
ENTRY e { a = f32[32,112,112,64] parameter(0)  i = f32[] constant(-inf)
  ROOT r = f32[32,56,56,64] reduce-window(a, i), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, to_apply=max }"
program batch_dot_64_f32 'ENTRY e { a = f32[64,1024,64] parameter(0)  b = f32[64,1024,64] parameter(1)
  ROOT r = f32[64,1024,1024] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2} }'
program tanh_ab_c_f16_16M 'ENTRY e { a = f16[16777216] parameter(0)  b = f16[16777216] parameter(1)
  c = f16[16777216] parameter(2)  m = f16[16777216] multiply(a, b)  s = f16[16777216] add(m, c)
  ROOT r = f16[16777216] tanh(s) }'
program sort_16M 'lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
ENTRY e { a = f32[16777216] parameter(0)  ROOT r = f32[16777216] sort(a), dimensions={0}, to_apply=lt }'
# name, type, batch and heads, queries, keys, what follows the logits x, the operands and results of the end
attention() {
  local q="$3,$4" s="$3,$4,$5"
  program "$1" "$sum
ENTRY e { q = $2[$q,64] parameter(0)  k = $2[$3,$5,64] parameter(1)  v = $2[$3,$5,64] parameter(2)
  a = $2[$s] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  w = f32[$s] convert(a)  n = f32[] constant(0.125)  nb = f32[$s] broadcast(n), dimensions={}
  x = f32[$s] multiply(w, nb)  o = f32[] constant(0)  i = f32[] constant(-inf)  ob = f32[$s] broadcast(o), dimensions={}
  row = s32[$4,$5] iota(), iota_dimension=0  key = s32[$4,$5] iota(), iota_dimension=1
  c = pred[$4,$5] compare(row, key), direction=GE  cb = pred[$s] broadcast(c), dimensions={1,2}
  h = f32[] constant(-1e9)  hb = f32[$s] broadcast(h), dimensions={}  xm = f32[$s] select(cb, x, hb)
  m = f32[$q] reduce($6, i), dimensions={2}, to_apply=max  mb = f32[$s] broadcast(m), dimensions={0,1}
  y = f32[$s] subtract($6, mb)  z = f32[$s] exponential(y)  l = f32[$q] reduce(z, o), dimensions={2}, to_apply=sum
  lb = f32[$s] broadcast(l), dimensions={0,1}  f = f32[$s] divide(z, lb)  p = $2[$s] convert(f)
  r = $2[$q,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  $7"
}
gradient() {
  attention "$1" "$2" 64 1024 1024 xm "do = $2[64,1024,64] parameter(3)
  g = $2[64,1024,1024] dot(do, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  gw = f32[64,1024,1024] convert(g)  gp = f32[64,1024,1024] divide(gw, lb)  one = f32[] constant(1)
  ones = f32[64,1024] broadcast(one), dimensions={}  l2 = f32[64,1024] multiply(l, l)  il = f32[64,1024] divide(ones, l2)
  ib = f32[64,1024,1024] broadcast(il), dimensions={0,1}  t = f32[64,1024,1024] multiply(gw, ib)
  tz = f32[64,1024,1024] multiply(t, z)  d = f32[64,1024] reduce(tz, o), dimensions={2}, to_apply=sum
  dm = f32[64,1024] negate(d)  db = f32[64,1024,1024] broadcast(dm), dimensions={0,1}  u = f32[64,1024,1024] add(gp, db)
  dz = f32[64,1024,1024] multiply(u, z)  dx = f32[64,1024,1024] select(cb, dz, ob)
  ds = f32[64,1024,1024] multiply(dx, nb)  dn = $2[64,1024,1024] convert(ds)
  dq = $2[64,1024,64] dot(dn, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  dk = $2[64,1024,64] dot(dn, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  dv = $2[64,1024,64] dot(p, do), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT e = ($2[64,1024,64], $2[64,1024,64], $2[64,1024,64], $2[64,1024,64]) tuple(r, dq, dk, dv) }"
}
attention attention_f32 f32 64 1024 1024 x 'ROOT e = f32[64,1024,64] copy(r) }'
attention attention_f16 f16 64 1024 1024 x 'ROOT e = f16[64,1024,64] copy(r) }'
attention decoding_f32 f32 16 4 4096 x 'ROOT e = f32[16,4,64] copy(r) }'
gradient attention_gradient_f32 f32
gradient attention_gradient_f16 f16
gradient attention_gradient_bf16 bf16
program product_row_max "$sum
ENTRY e { a = f32[8192,128] parameter(0)  b = f32[128,8192] parameter(1)
  d = f32[8192,8192] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}  i = f32[] constant(-inf)
  ROOT r = f32[8192] reduce(d, i), dimensions={1}, to_apply=max }"
dot dot_4096_f32 4096 f32 f32
dot dot_1024_f32 1024 f32 f32
dot dot_512_f32 512 f32 f32
program dense_gelu_4096 'ENTRY e { a = f32[4096,4096] parameter(0)  b = f32[4096,4096] parameter(1)  c = f32[4096] parameter(2)
  d = f32[4096,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  cb = f32[4096,4096] broadcast(c), dimensions={1}  x = f32[4096,4096] add(d, cb)
  h = f32[] constant(0.5)  hb = f32[4096,4096] broadcast(h), dimensions={}  k = f32[] constant(0.70710678)
  kb = f32[4096,4096] broadcast(k), dimensions={}  l = f32[4096,4096] multiply(x, kb)  f = f32[4096,4096] erf(l)
  o = f32[] constant(1)  ob = f32[4096,4096] broadcast(o), dimensions={}  g = f32[4096,4096] add(f, ob)
  j = f32[4096,4096] multiply(x, hb)  ROOT r = f32[4096,4096] multiply(j, g) }'
dot dot_4096_f16 4096 f16 f16
dot dot_4096_bf16 4096 bf16 bf16
dot dot_4096_s8 4096 s8 s32
dot dot_4096_f8 4096 f8e4m3fn f32

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
    { print >file }'
  for table in "$work"/isa_*.md; do
    python3 tools/page_data.py rows "docs/internals/data/$(basename "$table" .md).json" <"$table"
  done
  python3 tools/bench_page.py
else
  by_each
fi
exit $spilled
