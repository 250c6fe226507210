#!/usr/bin/env bash
# jax_programs.py with the JAX of a build folder: run.sh BUILD [options]. Exit code 77: JAX cannot be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../tools/jax_python.sh" "$1") || exit $?
shift
exec "$python" "$here/jax_programs.py" "$@"
