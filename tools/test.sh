#!/usr/bin/env bash
# Sets up, builds and runs the tests. `tools/test.sh` is what CI runs (under 30 minutes on 2 cores, the build from nothing included). `tools/test.sh
# --tier fast` or `--tier pr` builds and runs a tier of them (tests/CMakeLists.txt): without a device, or on the first driver. ctest prints
# the time of each tier that it ran.
# `tools/test.sh --full` goes on with the long parts, `tools/test.sh --full PART...` runs the named ones alone. Together they take
# hours; each result goes into its row of docs/internals/full-run.md when it is there, with its day and commit, so the parts may come one by one.
set -euo pipefail
cd "$(dirname "$0")/.."
all_parts=(suites validation hosts emulated swiftshader giant faults random exhaustive sanitizers compilers fuzz programs jax scripts wheel)
parts=()
tier=nightly
if [ "${1-}" = --full ]; then
  shift
  parts=("${@:-${all_parts[@]}}")
elif [ "${1-}" = --tier ]; then
  tier=${2-}
  case $tier in
    fast | pr | nightly) shift 2 ;;
    *) printf 'test.sh: --tier: %s is none of: fast pr nightly\n' "'$tier'" >&2; exit 2 ;;
  esac
fi
if [ $# -gt 0 ] && [ ${#parts[@]} -eq 0 ]; then
  printf 'test.sh: unknown option %s (only --tier fast|pr|nightly and --full [PART...])\n' "$1" >&2
  exit 2
fi
for part in "${parts[@]}"; do
  case " ${all_parts[*]} " in
    *" $part "*) ;;
    *) printf 'test.sh: --full: %s is none of: %s\n' "$part" "${all_parts[*]}" >&2; exit 2 ;;
  esac
done

tools/install_deps.sh test
# Without JAX its tests are skipped; this says so, and why. Its Python has the pip that gets the PJRT plugin's header.
python=
[ $tier = fast ] || python=$(tools/jax_python.sh build) || [ $? -eq 77 ]
[ $tier = nightly ] || export VXLA_TARGETS=${tier}_tests
tools/build.sh build -DVXLA_BUILD_TESTS=ON -DVXLA_WERROR=ON ${python:+"-DVXLA_PYTHON=$python"}
# Tests run on every driver: lavapipe, which the system has, and SwiftShader.
unset VXLA_TARGETS
if [ $tier != fast ]; then
  VK_ADD_DRIVER_FILES=$(tools/swiftshader.sh)
  export VK_ADD_DRIVER_FILES VXLA_TEST_DRIVERS=llvmpipe,SwiftShader
fi
# Many small dispatches are far cheaper without lavapipe's worker threads.
export LP_NUM_THREADS=${LP_NUM_THREADS:-0}
if [ ${#parts[@]} -eq 0 ]; then
  rm -rf build/test_results
  status=0
  # glibc's allocator takes half of the time of a process that compiles many kernels on a software driver.
  allocator=libjemalloc.so.2
  [ -z "$(LD_PRELOAD=$allocator env true 2>&1)" ] || allocator=
  export LD_PRELOAD=$allocator
  # A log gets what failed and the sums; a terminal, ctest's own progress.
  if [ -t 1 ]; then
    ctest --test-dir build -L "^$tier\$" --output-on-failure --parallel "$(nproc)" --progress || status=$?
  else
    ctest --test-dir build -L "^$tier\$" --output-on-failure --parallel "$(nproc)" |
      grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' || status=$?
  fi
  unset LD_PRELOAD
  python3 tools/test_times.py build/test_results
  [ "$status" = 0 ] || exit "$status"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

record() { tools/record.sh "$@"; }

failed() {
  tail -n 60 "$log"
  printf 'failed: %s\n' "$1" >&2
  exit 1
}

run_suite() {  # what, environment ... and the command
  local what=$1 count passed skipped
  shift
  env "$@" >"$log" 2>&1 || failed "$what"
  count() { grep -oE "\[  $1 *\] [0-9]+ tests?" "$log" | tail -n 1 | grep -oE '[0-9]+' || true; }
  passed=$(count PASSED) skipped=$(count SKIPPED)
  record "$what" "$passed passed${skipped:+, $skipped skipped (a feature that a driver lacks)}"
}

part_suites() {
  for suite in build/tests/*_tests; do run_suite "$(basename "$suite")" "$suite"; done
}

# Each suite runs everything in both binding modes, and its programs under GPU-assisted checks with descriptors alone where those
# cannot follow addresses (tests/support/device_test_support.cc). Left out there: tests that open devices of their own choice of
# memory, which those checks change, that go out of bounds on purpose, or that count a kernel's loops.
part_validation() {
  local layers driver with_gpu files
  VXLA_TARGETS=kernel_hashes tools/build.sh build
  mapfile -t files < <(git ls-files | grep -E '\.(hlo|mlir)$'; git grep -l 'R"' -- 'tests/*.cc' 'tests/*.h')
  build/tests/kernel_hashes --validate "${files[@]}" >"$log" || failed "kernels of bundles are valid SPIR-V"
  record "kernels of bundles, SPIR-V 1.3, by its validator" "$(grep -c ' generic ' "$log") programs in both binding modes, valid"
  with_gpu=-All/MemoryTest.*:*AccessesFarOutsideABufferHarmNothing*:All/QuirksTest.*
  for suite in vulkan_tests math_vulkan_tests; do
    run_suite "$suite on both drivers, validation core,sync" VXLA_TEST_VALIDATE=core,sync build/tests/$suite
    run_suite "$suite on both drivers, validation core,gpu" VXLA_TEST_VALIDATE=core,gpu build/tests/$suite --gtest_filter=$with_gpu
  done
  for suite in spec_vulkan_tests ops_tests; do
    for layers in core,sync core,gpu; do
      for driver in llvmpipe SwiftShader; do
        # Some of its tests choose addresses, which these checks cannot follow on lavapipe 22 (docs/internals/full-run.md).
        [ "$suite $layers $driver" = "ops_tests core,gpu llvmpipe" ] && continue
        run_suite "$suite on $driver, validation $layers" VXLA_TEST_VALIDATE=$layers VXLA_TEST_DEVICE=$driver build/tests/$suite
      done
    done
  done
}

# The host's own layer over every program in C of the suite.
part_hosts() {
  local what="programs of hosts in C, both drivers, validation core,sync"
  VXLA_TEST_VALIDATE=core,sync ctest --test-dir build -L '^hosts$' --output-on-failure --parallel "$(nproc)" >"$log" 2>&1 ||
    failed "$what"
  record "$what" "$(grep -c 'Test .*Passed' "$log") passed, silent"
}

part_emulated() {
  run_suite "ops_tests on lavapipe, every feature emulated" VXLA_TEST_EMULATE=i64,f64,f16,narrow,subgroups,division build/tests/ops_tests
  run_suite "ops_tests on lavapipe, division corrected" VXLA_TEST_EMULATE=division build/tests/ops_tests
  run_suite "ops_tests on SwiftShader, kernels of GPUs" VXLA_TEST_DEVICE=swiftshader VXLA_TEST_EMULATE=gpu,matrices build/tests/ops_tests \
    --gtest_filter='-*RandomPrograms*:*Ieee*'
}

# CI runs it too; here it is for its row in the table.
part_swiftshader() {
  run_suite "ops_tests on SwiftShader" VXLA_TEST_LONG=1 VXLA_TEST_DEVICE=swiftshader build/tests/ops_tests
}

# More than 2^31 elements: 5 GB and some minutes. And programs of 100,000 instructions.
part_giant() {
  run_suite "scale_tests, 100,000 instructions" VXLA_TEST_LONG=1 build/tests/scale_tests
  run_suite "tensors beyond 2^31 elements on lavapipe" VXLA_TEST_LONG=1 VXLA_TEST_DEVICE=llvmpipe build/tests/ops_tests --gtest_filter='GiantShapes*'
  VXLA_TARGETS=giant_runs tools/build.sh build
  run_suite "operations on more than 2^31 elements on lavapipe" VXLA_TEST_DEVICE=llvmpipe build/tests/giant_runs
}

# CI lets a quarter of the calls fail, and takes addresses only.
part_faults() {
  run_suite "every Vulkan call failing in turn, both drivers" VXLA_TEST_LONG=1 build/tests/vulkan_tests --gtest_filter='*FaultLayer*'
  for driver in llvmpipe SwiftShader; do
    run_suite "dispatches in parts on $driver" VXLA_TEST_LONG=1 VXLA_TEST_DEVICE=$driver build/tests/ops_tests --gtest_filter='*WorkLimit*'
  done
}

# CI runs 250 of them, and 250 others as on a GPU.
part_random() {
  run_random() {  # what follows "random programs on ", environment
    local what=$1
    shift
    run_suite "10,000 random programs on $what" VXLA_TEST_RANDOM_PROGRAMS=10000 "$@" build/tests/ops_tests \
      --gtest_filter='RandomPrograms*AsOnTheReference'
  }
  run_suite "10,000 programs of whole arrays with random shardings" VXLA_TEST_SHARDED_PROGRAMS=10000 build/tests/cpu_tests \
    --gtest_filter='ShardedPrograms*'
  run_suite "200 of them on lavapipe" VXLA_TEST_SHARDED_PROGRAMS=200 VXLA_TEST_DEVICE=llvmpipe build/tests/ops_tests \
    --gtest_filter='ShardedPrograms*'
  run_random lavapipe VXLA_TEST_DEVICE=llvmpipe
  run_random SwiftShader VXLA_TEST_DEVICE=swiftshader
  run_random "lavapipe, kernels of GPUs" VXLA_TEST_DEVICE=llvmpipe VXLA_TEST_EMULATE=gpu,matrices
  run_random "lavapipe, every feature emulated" VXLA_TEST_DEVICE=llvmpipe \
    VXLA_TEST_EMULATE=i64,f64,f16,narrow,subgroups,division
}

# Every f32 function of one argument at all 2^32 of them, the others at 10^8 pairs: a minute of one core each, and its table.
# Then the tests that take a sample of pairs of operands, with 100 times as many.
part_exhaustive() {
  VXLA_TARGETS=math_exhaustive tools/build.sh build
  build/tests/math_exhaustive | tee "$log" || failed math_exhaustive
  record math_exhaustive "$(grep -cE '^\| [a-z]+[a-z0-9_]* \| [0-9]' "$log") f32 functions within their bounds"
  run_suite "math_tests, 100 times as many pairs" VXLA_TEST_LONG=1 build/tests/math_tests --gtest_filter='CorrectedDivision*:*NarrowPairs*'
}

# The readers, the compiler, the scheduler; and on the drivers, programs of hosts in C.
part_sanitizers() {
  local programs="c_api_test async_test programs_test threads_test embedding_test image_test memory_test interposed_test runtime_test"
  local suites="core_tests text_tests mlir_tests infer_tests cpu_tests cpu_oracle_tests spec_tests math_tests codegen_tests scheduler_tests"
  VXLA_TARGETS="$suites" tools/build.sh --preset=asan
  # A size that no host has is refused there too, not a reason to stop.
  for suite in $suites; do run_suite "$suite, ASan and UBSan" ASAN_OPTIONS=allocator_may_return_null=1 build-asan/tests/$suite; done
  VXLA_TARGETS="vxla $programs pjrt_threads_test" tools/build.sh --preset=asan
  # What a driver's library still held when it was unloaded looks like a leak.
  ASAN_OPTIONS=detect_leaks=0 ctest --test-dir build-asan -R "^(${programs// /|}|pjrt_threads_on_)" --output-on-failure >"$log" 2>&1 ||
    failed "programs of hosts in C, ASan and UBSan"
  record "programs of hosts in C, both drivers, ASan and UBSan" "nothing reported"
  suites="cpu_tests cpu_oracle_tests scheduler_tests"
  local threaded="threads_test async_test programs_test"
  VXLA_TARGETS="$suites ops_tests $threaded pjrt_threads_test" tools/build.sh --preset=tsan
  for suite in $threaded; do
    for device in llvmpipe swiftshader; do
      TSAN_OPTIONS=suppressions=$PWD/tests/support/tsan.supp VXLA_TEST_DEVICE=$device build-tsan/tests/$suite >"$log" 2>&1 ||
        failed "$suite on $device, TSan"
    done
  done
  record "programs of hosts in C with threads, both drivers, TSan" "nothing reported"
  TSAN_OPTIONS=suppressions=$PWD/tests/support/tsan.supp ctest --test-dir build-tsan -R '^pjrt_threads_on_' --output-on-failure >"$log" 2>&1 ||
    failed "the PJRT plugin called from threads, TSan"
  record "the PJRT plugin called from eight threads, both drivers, TSan" "nothing reported"
  for suite in $suites; do run_suite "$suite, TSan" build-tsan/tests/$suite; done
  run_suite "replicas and host steps on the drivers, TSan" TSAN_OPTIONS=suppressions=$PWD/tests/support/tsan.supp \
    build-tsan/tests/ops_tests --gtest_filter='*Replica*:*Job*:*OneDevice*:*HostStep*'
  run_suite "replicas on several queues, TSan" TSAN_OPTIONS=suppressions=$PWD/tests/support/tsan.supp VXLA_TEST_EMULATE=queues \
    build-tsan/tests/ops_tests --gtest_filter='*Replica*:*Job*'
}

# Everything builds without a warning with each compiler that is installed (Debian: clang-14, clang-16 ...).
part_compilers() {
  local compiler found=0
  for compiler in clang++-{14..22} g++-{12..14}; do
    command -v "$compiler" >/dev/null || continue
    found=1
    CXX=$compiler tools/build.sh "build-$compiler" -DVXLA_BUILD_TESTS=ON -DVXLA_WERROR=ON >"$log" 2>&1 || failed "$compiler"
    record "$compiler builds everything" "without a warning"
  done
  [ "$found" = 1 ] || printf 'SKIPPED: no clang++-14 to -22, no g++-12 to -14 under these names\n' >&2
}

# 100,000 inputs for each reader, from the programs of the tests and examples on; and the tests' own mutants, 100,000 of them.
part_fuzz() {
  local seeds fuzzer name length
  run_suite "mlir_tests, 100,000 mutants" VXLA_TEST_LONG=1 build/tests/mlir_tests --gtest_filter='*Mutation*'
  command -v clang++-14 >/dev/null || { printf 'SKIPPED: no clang++-14: the readers are not fuzzed\n' >&2; return; }
  VXLA_TARGETS="hlo_text_fuzzer mlir_text_fuzzer check_file_fuzzer bundle_fuzzer compile_options_fuzzer numpy_file_fuzzer" \
    tools/build.sh --preset=fuzz -DVXLA_BUILD_PJRT=OFF
  seeds=$(mktemp -d)
  mkdir "$seeds"/{programs,bundles,numpy,options}
  python3 tests/fuzz/seeds.py "$seeds/programs"
  for name in examples/*/*.hlo; do
    cp "$name" "$seeds/programs/${name//\//_}"
    build/vxla convert "$name" "$seeds/programs/${name//\//_}.mlir"
  done
  # Bytecode of whatever of them is a program.
  for name in "$seeds"/programs/*; do
    build/vxla convert "$name" "$name.mlirbc" >/dev/null 2>&1 || true
  done
  build/vxla compile tests/c_api/bundle.hlo -o "$seeds/bundles/bundle.vxla"
  python3 -c 'import numpy, sys
numpy.savez(sys.argv[1] + "/one.npz", numpy.arange(6.0).reshape(2, 3), numpy.array("bf16"))
numpy.savez_compressed(sys.argv[1] + "/two.npz", arg_0=numpy.arange(9)[::2], arg_1=numpy.ones((2, 2), order="F"))
numpy.save(sys.argv[1] + "/three.npy", numpy.zeros((0, 3), "c8"))' "$seeds/numpy"
  # A build for two replicas of two partitions.
  printf '\x1a\x06\x08\x00\x20\x02\x28\x02' >"$seeds/options/options"
  for fuzzer in hlo_text:programs mlir_text:programs check_file:programs bundle:bundles compile_options:options numpy_file:numpy; do
    length=4096
    [ "$fuzzer" != bundle:bundles ] || length=65536
    name=${fuzzer%:*}
    build-fuzz/tests/${name}_fuzzer -runs=100000 -max_len=$length -rss_limit_mb=4096 -malloc_limit_mb=3000 -timeout=20 \
      "$seeds/${fuzzer#*:}" tests/mlir/check >"$log" 2>&1 || failed "$name under libFuzzer"
    record "$name under libFuzzer" "100,000 inputs"
  done
  rm -r "$seeds"
}

# Long programs, where the shared model collection lies beside the checkout.
part_programs() {
  local models=../shared/models python=python3 what
  [ -d "$models" ] || { printf 'no %s: its programs do not run\n' "$models"; return; }
  "$python" -c "import numpy" 2>/dev/null || python=/usr/bin/python3
  for bindings in addresses descriptors; do
    for form in hlo mlir mlirbc optimized; do
      what="basic programs, $form, $bindings, validation core,sync"
      "$python" "$models/check.py" --vxla build/vxla --device vulkan --family basic --form $form -- --bindings $bindings --validate=core,sync >"$log" 2>&1 ||
        failed "$what"
      record "$what" "$(tail -n 1 "$log")"
    done
  done
  # Seeded weights make a badly conditioned network, and bf16 has 8 bits: results agree to a few of its ulps of the largest.
  what="transformer_train_step_bf16, seeded, lavapipe against the CPU"
  env -u LP_NUM_THREADS build/vxla diff "$models/transformer_train_step_bf16/program.hlo" --rtol 0.0625 --atol 0.25 >"$log" 2>&1 || failed "$what"
  record "$what" "$(tail -n 1 "$log")"
}

# What JAX itself writes, in each form, against its own results; CI runs three of the forms on lavapipe.
part_jax() {
  local python device
  python=$(tools/jax_python.sh build) || { record "JAX programs" "skipped: no jax"; return; }
  for device in cpu llvmpipe swiftshader; do
    "$python" tests/jax/jax_programs.py --vxla build/vxla --device "$device" >"$log" 2>&1 || failed "JAX programs on $device"
    record "JAX programs on $device" "$(tail -n 1 "$log")"
    "$python" tests/jax/primitive_harnesses.py --vxla build/vxla --device "$device" >"$log" 2>&1 || failed "JAX's harnesses on $device"
    record "JAX's harnesses of its primitives on $device" "$(tail -n 1 "$log")"
  done
}

# Scripts as users of JAX and its libraries write them, on the plugin and on JAX's CPU.
part_scripts() {
  local python
  python=$(tools/jax_python.sh build tests/jax/scripts/requirements.txt) || { record "scripts of JAX users" "skipped: no jax"; return; }
  PYTHONPATH=build/python "$python" tests/jax/scripts/run.py | tee "$log" || failed "scripts of JAX users"
  record "scripts of JAX users on the plugin, lavapipe" "$(tail -n 1 "$log")"
}

# The wheel, built and installed as a user does.
part_wheel() {
  tools/wheel.sh >"$log" 2>&1 || failed "tools/wheel.sh"
  record "tools/wheel.sh" "$(tail -n 1 "$log")"
  tests/python/wheel_test.sh >"$log" 2>&1 || failed "the installed wheel"
  record "the wheel in an empty environment" "$(head -n 1 "$log")"
}

for part in "${parts[@]}"; do "part_$part"; done
