#!/usr/bin/env bash
# The wheel in dist (tools/wheel.sh) as a user meets it: an empty virtual environment, pip, three lines of Python. Exit code 77: pip gets no JAX.
# wheel_test.sh [JAX'S REQUIREMENT]
set -euo pipefail
cd "$(dirname "$0")/../.."
wheels=("$PWD"/dist/vxla-*.whl)
[ -f "${wheels[0]}" ] || { printf 'wheel_test.sh: dist has no wheel: tools/wheel.sh\n' >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --retries 1 "${wheels[0]}" "${1-jax==0.10.2}" >"$work/log" 2>&1 ||
  { tail -n 5 "$work/log" >&2; grep -q 'jax' "$work/log" && exit 77; exit 1; }
cp tests/python/wheel_test.py "$work"
cd "$work"
unset PYTHONPATH VXLA_PJRT_LIBRARY
exec_path=$work/venv/bin
"$exec_path/python" wheel_test.py "${wheels[0]}"
"$exec_path/vxla" --version
printf 'ENTRY e { p = f32[8] parameter(0)  ROOT r = f32[8] tanh(p) }\n' | "$exec_path/vxla" diff -
