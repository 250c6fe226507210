#!/usr/bin/env bash
# A picture of ink in a stirred fluid, from a JAX function to a PNG: `examples/fluid/run.sh [PICTURE.png] [options of vxla run]`.
# Without JAX the checked-in fluid.hlo serves; EXPORT=1 writes it again, with JAX from PyPI in a virtual environment.
set -euo pipefail
picture=$(realpath -m "${1:-fluid.png}")
shift || true
cd "$(dirname "$0")"
if [ -n "${EXPORT:-}" ]; then
  [ -x ../.venv/bin/python ] || { python3 -m venv ../.venv && ../.venv/bin/pip install --quiet jax; }
  ../.venv/bin/python fluid.py
fi
result=$(mktemp --suffix=.npz)
trap 'rm -f "$result"' EXIT
../../build/vxla run fluid.hlo "$@" -o "$result"
# The interpreter that the packages' numpy belongs to; another one may stand first in the path.
python=python3
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" ../picture.py "$result" "$picture"
echo "$picture"
