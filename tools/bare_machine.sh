#!/usr/bin/env bash
# Runs the README's commands as a new user does: in a fresh clone of HEAD, on a Debian 12 (debootstrap) that has no package of this
# machine's. `tools/bare_machine.sh [quickstart] [test]`, both by default; wants root, debootstrap and git. Times and results get their
# rows in docs/internals/full-run.md. The packages come from where this machine's own do.
set -euo pipefail
cd "$(dirname "$0")/.."
commands=("$@")
[ $# -gt 0 ] || commands=(quickstart test)
for command in "${commands[@]}"; do
  case $command in
    quickstart | test) ;;
    *) printf 'bare_machine.sh: %s is neither quickstart nor test\n' "$command" >&2; exit 2 ;;
  esac
done
for needed in debootstrap git unshare; do
  command -v "$needed" >/dev/null || { printf 'bare_machine.sh: %s is missing\n' "$needed" >&2; exit 3; }
done
[ "$(id -u)" -eq 0 ] || { printf 'bare_machine.sh: a machine in a folder is made by root alone\n' >&2; exit 3; }

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root"
site=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
debootstrap --variant=minbase bookworm "$root" "$site" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; exit 3; }
rm -f "$root.log" "$root/etc/apt/sources.list"
# How this machine reaches its packages: apt's sources, pip's, the certificates of both.
for path in apt/sources.list apt/sources.list.d pip.conf resolv.conf ssl/certs; do
  [ -e "/etc/$path" ] || continue
  mkdir -p "$(dirname "$root/etc/$path")"
  cp -rL "/etc/$path" "$(dirname "$root/etc/$path")/" 2>/dev/null || true
done
mkdir -p "$root/usr/local/share"
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
git clone -q --no-local "$PWD" "$root/opt/vxla"
kept=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
for name in PIP_CERT PIP_DEFAULT_TIMEOUT; do [ -z "${!name-}" ] || kept+=("$name=${!name}"); done

# The mounts are in a namespace of their own, which ends with the command.
inside() {
  unshare --mount --pid --fork bash -euc '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/tmp"
    exec chroot "$root" env -i "$@"' inside "$root" "${kept[@]}" bash -c "cd /opt/vxla && $1"
}

for command in "${commands[@]}"; do
  begin=$SECONDS
  inside "./tools/$command.sh" 2>&1 | tee "$root/$command.log"
  seconds=$((SECONDS - begin))
  result="$(tail -n 1 "$root/$command.log"); $((seconds / 60)) min $((seconds % 60)) s with the packages' installation, $(nproc) cores"
  tools/record.sh "\`tools/$command.sh\` on a bare Debian 12 (tools/bare_machine.sh)" "$result"
done
