#!/usr/bin/env bash
# libvxla_runtime for Windows: builds libvxla_runtime.dll with MinGW (Debian: g++-mingw-w64-x86-64-posix) in build-windows, checks what it exports, and
# where wine and a virtual display are (wine64, xvfb, xauth) runs a host in C under wine, on the system's own Vulkan driver: bundles, images, a
# device of the host's, and the bits of a few programs beside those of Linux. Exit code 77: there is no MinGW. `tools/windows.sh [FOLDER]`: the
# Linux build that gives the probes, the command and the bits, build by default.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build}") out=$PWD/build-windows
cxx=$(command -v x86_64-w64-mingw32-g++-posix || command -v x86_64-w64-mingw32-g++ || true)
[ -n "$cxx" ] || { printf 'windows.sh: no MinGW (Debian: g++-mingw-w64-x86-64-posix)\n' >&2; exit 77; }
targets="vxla vxla_probes vxla_runtime_static bundle_bits"
[ -n "${VXLA_WINDOWS_BUILT:-}" ] || VXLA_TARGETS=$targets tools/build.sh "$build" -DVXLA_BUILD_TESTS=ON
# Headers of this system that are the same on each: the C library's beside them are not to be found.
mkdir -p "$out/include"
for header in fmt spirv vulkan vk_video xxhash.h; do ln -sfn "/usr/include/$header" "$out/include/$header"; done
launcher=()
if command -v ccache >/dev/null && [ -z "${CCACHE_DISABLE:-}" ]; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake -S . -B "$out" -G Ninja "${launcher[@]}" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_C_COMPILER="${cxx/g++/gcc}" -DCMAKE_RC_COMPILER=x86_64-w64-mingw32-windres -DCMAKE_BUILD_TYPE=Release -DVXLA_RUNTIME_ONLY=ON -DVXLA_WERROR=ON \
  -DVXLA_PROBES="$build/embedded_probes.cc" -DCMAKE_INCLUDE_PATH="$out/include" >"$out/configure.log"
ninja -C "$out" --quiet vxla_runtime_shared vxla_runtime_static runtime_test bundle_bits
dll=$out/sdk/libvxla_runtime.dll
# The C API and nothing else.
x86_64-w64-mingw32-objdump -p "$dll" | sed -n '/Ordinal.Name Pointer/,/^$/p' | sed -nE 's/^\s*\[ *[0-9]+\] (\+base\[ *[0-9]+\] +[0-9a-f]+ )?//p' | sort >"$out/exports.txt"
foreign=$(grep -v '^vxla[A-Z]' "$out/exports.txt" || true)
unknown=$(comm -23 "$out/exports.txt" <(sort tests/c_api/symbols.txt))
[ -s "$out/exports.txt" ] && [ -z "$foreign$unknown" ] || { printf 'windows.sh: %s exports what is not the C API, or nothing: %s\n' "$dll" "$foreign $unknown" >&2; exit 1; }
printf '%s: %s functions, %s bytes stripped\n' "$dll" "$(wc -l <"$out/exports.txt")" \
  "$(x86_64-w64-mingw32-strip -o "$out/stripped.dll" "$dll" && stat -c %s "$out/stripped.dll")"

wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null || command -v wine || true)
if [ -z "$wine" ] || ! command -v xvfb-run >/dev/null; then
  printf 'windows.sh: no wine or no Xvfb (Debian: wine64 xvfb xauth): built, not run\n' >&2
  exit 0
fi
work=$out/run
rm -rf "$work"
mkdir -p "$work"
cp "$dll" "$out"/runtime_test.exe "$out"/bundle_bits.exe "$work/"
for library in libstdc++-6.dll libgcc_s_seh-1.dll libwinpthread-1.dll; do
  cp "$("$cxx" -print-file-name=$library)" "$work/" 2>/dev/null || cp "$(find /usr/x86_64-w64-mingw32 /usr/lib/gcc/x86_64-w64-mingw32 -name $library | grep -v win32 | head -n 1)" "$work/"
done
compile() { "$build/vxla" compile "tests/c_api/$1.hlo" -o "$work/$2.vxla" --no-cache "${@:3}" 2>/dev/null; }
compile bundle any
compile bundle own --target llvmpipe generic
compile bundle probed --target generic generic+f16 generic+fma generic+division
compile image image --argument-image 0=R8G8B8A8_UNORM --result-image 0=R8G8B8A8_UNORM --result-image 0=R32G32B32A32_SFLOAT
compile matrices matrices --target llvmpipe generic --emulate gpu,matrices
compile dynamic dynamic
programs=(softmax_f32.mlir attention_f32.mlir layer_norm_f32.mlir train_step_f32.mlir heat_equation_f32.mlir functions_f32.hlo trigonometry_f32.hlo dot_f32.hlo
  convolution_f32.hlo sort_f32.hlo fft_real.hlo)
for program in "${programs[@]}"; do "$build/vxla" compile "examples/corpus/$program" -o "$work/${program%.*}.vxla" --no-cache 2>/dev/null; done
# A prefix of its own; lavapipe alone, which both sides then run on.
under_wine() {
  (cd "$work" && WINEDEBUG=-all WINEPREFIX="$PWD/prefix" VXLA_TEST_DEVICE=llvmpipe timeout 400 xvfb-run -a "$wine" "$@") 2>"$out/wine.log"
}
failed() {
  tail -n 20 "$out/wine.log" >&2
  printf 'windows.sh: %s\n' "$1" >&2
  exit 1
}
under_wine runtime_test.exe any.vxla own.vxla probed.vxla image.vxla matrices.vxla dynamic.vxla llvmpipe || failed "runtime_test fails under wine"
names=("${programs[@]%.*}")
under_wine bundle_bits.exe llvmpipe "${names[@]/%/.vxla}" | tr -d '\r' >"$out/bits_windows.txt" || failed "bundle_bits fails under wine"
(cd "$work" && "$build/tests/bundle_bits" llvmpipe "${names[@]/%/.vxla}") >"$out/bits_linux.txt"
diff "$out/bits_linux.txt" "$out/bits_windows.txt" || { printf 'windows.sh: the bits under wine are not those of Linux\n' >&2; exit 1; }
printf 'under wine: runtime_test passes, %s results have the bits of Linux\n' "$(wc -l <"$out/bits_windows.txt")"
