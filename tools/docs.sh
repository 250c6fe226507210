#!/usr/bin/env bash
# Checks the documentation (tools/docs_check.py, tools/bench_page.py, tools/readme.py) and builds it as a site, build/site, with mkdocs-material from PyPI in a virtual environment
# under build. Whatever mkdocs warns of is an error. Exit code 77: PyPI gives no mkdocs-material, and only the check was made.
# VXLA_DOCS_VENV names another place for the environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/docs_check.py "$@"
python3 tools/bench_page.py --check
python3 tools/readme.py
venv=${VXLA_DOCS_VENV:-$PWD/build/docs_venv}
if ! "$venv/bin/python" -c 'import material' 2>/dev/null; then
  { python3 -m venv "$venv" && "$venv/bin/pip" install -q --retries 1 'mkdocs-material>=9.6,<10'; } ||
    { printf 'docs.sh: no virtual environment, or PyPI gives no mkdocs-material\n' >&2; exit 77; }
fi
# The makers of the theme advertise their next product in every build.
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build -q --strict -f packaging/mkdocs.yml
printf 'build/site/index.html: %s pages\n' "$(find build/site -name index.html | wc -l)"
