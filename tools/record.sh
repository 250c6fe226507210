#!/usr/bin/env bash
# `tools/record.sh WHAT RESULT`: puts a result with its day and commit into WHAT's row of docs/internals/data/full_run.json, or into a new one at its
# end, makes docs/internals/full-run.md of it, and writes README.md's numbers that come from it.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/page_data.py row docs/internals/data/full_run.json "$1" "$2" "$(date -u +%F)" "$(git rev-parse --short HEAD)"
python3 tools/bench_page.py >/dev/null
python3 tools/readme.py --write
printf '%s: %s\n' "$1" "$2"
