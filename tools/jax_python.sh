#!/usr/bin/env bash
# Prints the path of a Python that has JAX for CPUs, and absl, which JAX's own tests want, in a virtual environment under the build
# folder ($1; build by default), which is made where it is missing. $2: a file of further requirements, with which the environment is one of its
# own, named after the file's folder. Exit code 77, or 1 where VXLA_REQUIRE_JAX is set, with a line that says why: there is none to be had.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.10.2
requirements=("jax==$version" absl-py)
name=jax wanted=/dev/null
if [ -n "${2-}" ]; then
  wanted=$2 name=$(basename "$(dirname "$2")")
  requirements+=(-r "$2")
fi
mkdir -p "${1:-build}"
venv=$(cd "${1:-build}" && pwd)/${name}_venv
installed() {
  "$venv/bin/python" -c "import absl, jax; assert jax.__version__ == '$version'" 2>/dev/null && cmp -s "$wanted" "$venv/requirements.txt"
}
# Whoever asks at the same time waits for the first one.
exec 9>"$venv.lock"
flock 9
if ! installed; then
  rm -rf "$venv"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q --retries 1 "${requirements[@]}" && cp "$wanted" "$venv/requirements.txt" &&
    installed; } >"$log" 2>&1; then
    printf 'SKIPPED: what JAX writes is not tested: jax %s cannot be installed from PyPI: %s\n' "$version" "$(tail -n 1 "$log")" >&2
    [ -z "${VXLA_REQUIRE_JAX-}" ] || exit 1
    exit 77
  fi
fi
printf '%s\n' "$venv/bin/python"
