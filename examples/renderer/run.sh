#!/usr/bin/env bash
# The renderer's picture: `examples/renderer/run.sh [PICTURE.png] [options of the renderer]`. TRAIN=1 trains the denoiser and
# exports both programs again, with JAX from PyPI in a virtual environment.
set -euo pipefail
picture=$(realpath -m "${1:-renderer.png}")
shift || true
cd "$(dirname "$0")"
if [ -n "${TRAIN:-}" ]; then
  [ -x ../.venv/bin/python ] || { python3 -m venv ../.venv && ../.venv/bin/pip install --quiet jax; }
  ../.venv/bin/python train.py
fi
result=$(mktemp --suffix=.ppm)
trap 'rm -f "$result"' EXIT
../../build/examples/renderer/renderer --headless --picture "$result" "$@"
# The interpreter that the packages' numpy belongs to; another one may stand first in the path.
python=python3
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
PYTHONPATH=.. "$python" - "$result" "$picture" <<'PYTHON'
import sys

import numpy as np
from picture import write_png

size, _, texels = open(sys.argv[1], "rb").read().split(b"\n", 3)[1:]
width, height = map(int, size.split())
write_png(np.frombuffer(texels, np.uint8).reshape(height, width, 3).astype(np.float32), sys.argv[2])
PYTHON
echo "$picture"
