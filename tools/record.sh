#!/usr/bin/env bash
# `tools/record.sh WHAT RESULT`: puts a result with its day and commit into WHAT's row of docs/internals/full-run.md, or into a new one at its end.
set -euo pipefail
cd "$(dirname "$0")/.."
table=docs/internals/full-run.md
trap 'rm -f "$table.new"' EXIT
row="| $1 | $2 | $(date -u +%F), $(git rev-parse --short HEAD) |" start="| $1 |" awk '
  index($0, ENVIRON["start"]) == 1 { $0 = ENVIRON["row"]; found = 1 }
  { print }
  END { if (!found) print ENVIRON["row"] }' "$table" >"$table.new"
mv "$table.new" "$table"
printf '%s: %s\n' "$1" "$2"
