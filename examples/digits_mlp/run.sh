#!/usr/bin/env bash
# Trains on the digits in one program, and says what the trained network gets right: `examples/digits_mlp/run.sh [options of vxla run]`.
set -euo pipefail
cd "$(dirname "$0")"
result=$(mktemp --suffix=.npz)
trap 'rm -f "$result"' EXIT
../../build/vxla run train.hlo --args digits.npz "$@" -o "$result"
# The interpreter that the packages' numpy belongs to; another one may stand first in the path.
python=python3
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" - "$result" <<'END'
import sys
import numpy as np
with np.load(sys.argv[1]) as results:
    accuracy, loss = (float(results[name]) for name in results.files)
print(f"after 300 steps: {100 * accuracy:.1f} % of the 360 test digits are right, the last batch's loss is {loss:.4f}")
END
