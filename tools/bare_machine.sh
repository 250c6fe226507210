#!/usr/bin/env bash
# Runs the README's commands as a new user does: in a fresh clone of HEAD, on a Debian 12 (debootstrap) that has no package of this
# machine's. `tools/bare_machine.sh [quickstart] [test] [both] [package] [install]`, both by default, one after the other in one clone;
# wants root, debootstrap and git. package: builds the packages there, installs the command's in a second such machine, and runs it
# without a network. install: the second half, with the packages of dist/. Times and results get their rows in
# docs/internals/full-run.md. The packages come from where this machine's own do.
set -euo pipefail
cd "$(dirname "$0")/.."
commands=("$@")
[ $# -gt 0 ] || commands=(both)
for command in "${commands[@]}"; do
  case $command in
    quickstart | test | both | package | install) ;;
    *) printf 'bare_machine.sh: %s is none of quickstart, test, both, package, install\n' "$command" >&2; exit 2 ;;
  esac
done
for needed in debootstrap git unshare; do
  command -v "$needed" >/dev/null || { printf 'bare_machine.sh: %s is missing\n' "$needed" >&2; exit 3; }
done
[ "$(id -u)" -eq 0 ] || { printf 'bare_machine.sh: a machine in a folder is made by root alone\n' >&2; exit 3; }

site=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
roots=()
trap 'rm -rf --one-file-system "${roots[@]}"' EXIT
kept=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
for name in PIP_CERT PIP_DEFAULT_TIMEOUT; do [ -z "${!name-}" ] || kept+=("$name=${!name}"); done

# A Debian in a folder, `root`, that reaches its packages as this machine does: apt's sources, pip's, the certificates of both.
make_root() {
  root=$(mktemp -d)
  roots+=("$root")
  chmod 755 "$root"
  debootstrap --variant=minbase bookworm "$root" "$site" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; exit 3; }
  rm -f "$root.log" "$root/etc/apt/sources.list"
  local path
  for path in apt/sources.list apt/sources.list.d pip.conf resolv.conf ssl/certs; do
    [ -e "/etc/$path" ] || continue
    mkdir -p "$(dirname "$root/etc/$path")"
    cp -rL "/etc/$path" "$(dirname "$root/etc/$path")/" 2>/dev/null || true
  done
  # A machine knows its own name: without it OpenMPI's start waits for a name server.
  printf '127.0.0.1 localhost %s\n' "$(uname -n)" >"$root/etc/hosts"
  mkdir -p "$root/usr/local/share"
  cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
}

# The mounts are in a namespace of their own, which ends with the command. Further words: what unshare takes, such as --net.
inside() {
  local command=$1
  shift
  unshare --mount --pid --fork "$@" bash -euc '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind --read-only /sys "$root/sys"
    mount -t tmpfs tmpfs "$root/tmp"
    exec chroot "$root" env -i "$@"' inside "$root" "${kept[@]}" bash -euc "$command"
}

# The README's commands, in a clone of HEAD.
run_scripts() {
  local script
  git clone -q --no-local "$PWD" "$root/opt/vxla"
  for script; do inside "cd /opt/vxla && ./tools/$script.sh"; done
}

install='apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends'

# The steps of packaging/docker/Dockerfile, whose second image has neither the sources nor, here, a network when vxla runs.
run_package() {
  git clone -q --no-local "$PWD" "$root/opt/vxla"
  inside "$install git >/dev/null && cd /opt/vxla && tools/package.sh"
  local built=$root
  make_root
  run_install "$built/opt/vxla/dist"
}

run_install() {
  mkdir "$root/packages"
  cp "$1"/vxla_*.deb "$root/packages/"
  cp -r examples/custom_kernel "$root/example"
  # A compiler for README's first example alone.
  inside "$install /packages/vxla_*.deb mesa-vulkan-drivers liblapack3 g++ >/dev/null"
  # What a new user types, and the verdict on results that are another run's.
  inside 'vxla --version && vxla devices | head -n 3 && vxla diff /usr/share/vxla/corpus/* -j "$(nproc)" | tail -n 1 >/packages/corpus.txt
    cd /packages && vxla run /usr/share/vxla/corpus/dot_f32.hlo --seed 1 -o other.npz 2>/dev/null
    vxla diff /usr/share/vxla/corpus/dot_f32.hlo --seed 2 --against other.npz 2>/dev/null | head -n 1 | grep ^DIFFER' --net
  # README's first example: the forgotten factor is found, and gone once it is back.
  local example
  example=$(sed -n 's/^\$ \(vxla diff .*\)/\1/p' README.md)
  inside "cd /example && c++ -O2 -shared -fPIC swish.cc -o libswish.so && cp swish.comp whole.comp && sed -i 's/-ATTR_beta \* x/-x/' swish.comp
    $example >out.txt || [ \$? -eq 1 ]
    cat out.txt && grep -q '^DIFFER: .*fault: algorithm' out.txt && [ -s out.html ]
    cp whole.comp swish.comp && ${example/ --bisect --report out.html/} | grep ^AGREE
    printf '%s; README'\\''s fault is found\\n' \"\$(cat /packages/corpus.txt)\"" --net
}

for command in "${commands[@]}"; do
  begin=$SECONDS
  make_root
  out=$(mktemp)
  roots+=("$out")
  # Not through a pipe: what is made there would not be removed.
  case $command in
    package) run_package ;;
    install) run_install dist ;;
    both) run_scripts quickstart test ;;
    *) run_scripts "$command" ;;
  esac > >(tee "$out") 2>&1
  seconds=$((SECONDS - begin))
  result="$(tail -n 1 "$out"); $((seconds / 60)) min $((seconds % 60)) s with the packages' installation, $(nproc) cores"
  what="\`tools/$command.sh\` on a bare Debian 12 (tools/bare_machine.sh)"
  [ "$command" != both ] || what="\`tools/quickstart.sh\`, then \`tools/test.sh\` in the same clone on a bare Debian 12 (tools/bare_machine.sh)"
  [ "$command" != install ] || what="the packages of \`tools/package.sh\`, installed on a bare Debian 12 and run without a network (tools/bare_machine.sh install)"
  tools/record.sh "$what" "$result"
done
