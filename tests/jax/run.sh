#!/usr/bin/env bash
# A script of this folder with the JAX of a build folder: run.sh BUILD SCRIPT.py [options]. Exit code 77: JAX cannot be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../tools/jax_python.sh" "$1") || exit $?
script=$2
shift 2
exec "$python" "$here/$script" "$@"
