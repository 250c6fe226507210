#!/usr/bin/env bash
# From a bare Debian 12 machine to a verdict: installs, builds, and compares a training step of an MLP on handwritten digits on
# the best Vulkan device (software where there is no GPU) with the CPU reference.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
  printf 'quickstart.sh: it takes no options: %s\n' "$1" >&2
  exit 2
fi
tools/install_deps.sh build
VXLA_TARGETS="vxla renderer" tools/build.sh build -DVXLA_BUILD_TESTS=OFF
example=examples/digits_mlp
build/vxla run "$example/train_step.hlo" --args "$example/args.npz" --num-runs 2 --json |
  python3 -c '
import json, sys
run = json.load(sys.stdin)
print("device   %s (%s)" % (run["device"], run["driver"]))
print("time     compiled in %.1f ms, first run %.2f ms, then %.2f ms" % (run["compile_ms"], run["first_run_ms"], run["runs_ms"][-1]))'
build/vxla explain "$example/train_step.hlo" --json |
  python3 -c 'import json, sys; plan = json.load(sys.stdin); print("kernels  %d in %d dispatches, %d instructions on the CPU" % (len({k["key"] for k in plan["kernels"]}), plan["dispatches"], len(plan["fallbacks"])))'
build/vxla diff "$example/train_step.hlo" --args "$example/args.npz"
