#!/usr/bin/env bash
# Runs a command of this build with the newest Mesa that Debian has, sid's, which lies in a folder of its own:
# `tools/newer_mesa.sh DRIVER COMMAND [ARGUMENT ...]`. DRIVER is one of
#   lavapipe                          programs run
#   amd:CHIP  nvidia:CHIP  adreno:CHIP  apple      the driver without its GPU: kernels compile, and nothing runs
# with a CHIP of Mesa's stand-ins for kernels: gfx1201, navi31, navi21, vega10; 170 (GA100), 192 (AD102), hexadecimal; 750. The
# first call makes the folder, build/newer_mesa, in some two minutes; wants root and debootstrap. Files are those below the
# repository's root, where the command begins, and below /tmp.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/newer_mesa driver=${1:-} chip=
case $driver in
  *:*) chip=${driver#*:} driver=${driver%%:*} ;;
esac
case $driver in
  lavapipe) icd=lvp stand_in= variable= ;;
  amd) icd=radeon stand_in=amdgpu variable=AMDGPU_GPU_ID ;;
  nvidia) icd=nouveau stand_in=nouveau variable=NOUVEAU_CHIPSET ;;
  adreno) icd=freedreno stand_in=freedreno variable=FD_GPU_ID ;;
  apple) icd=asahi stand_in=asahi variable= ;;
  *) printf 'newer_mesa.sh: %s is none of lavapipe, amd:CHIP, nvidia:CHIP, adreno:CHIP, apple\n' "'$driver'" >&2; exit 2 ;;
esac
[ -z "$variable" ] || [ -n "$chip" ] || { printf 'newer_mesa.sh: %s of which chip? %s:CHIP\n' "$driver" "$driver" >&2; exit 2; }
shift
[ $# -gt 0 ] || { printf 'newer_mesa.sh: no command\n' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { printf 'newer_mesa.sh: a machine in a folder is made and entered by root alone\n' >&2; exit 3; }

if [ ! -e "$root/made" ]; then
  command -v debootstrap >/dev/null || { printf 'newer_mesa.sh: debootstrap is missing\n' >&2; exit 3; }
  rm -rf --one-file-system "$root"
  site=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
  mkdir -p "$root"
  printf 'The newest Mesa is unpacked into build/newer_mesa ...\n' >&2
  debootstrap --variant=minbase --include=libvulkan1,mesa-vulkan-drivers,mesa-drm-shim sid "$root" "$site" >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 3; }
  rm "$root.log"
  touch "$root/made"
fi

# What the build links and sid has in other versions.
libraries=$root/opt/libraries
mkdir -p "$libraries" "$root$PWD"
for binary in build/vxla build/tests/*_tests; do
  [ ! -x "$binary" ] || ldd "$binary" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|stdc\+\+|gcc_s|vxla_[a-z]*)\.so/ { print $3 }'
done | sort -u | xargs -r cp -uLt "$libraries"
cp -uL "$(ldconfig -p | awk '/libshaderc\.so/ { print $NF; exit }')" "$libraries" 2>/dev/null || true
set -- "${variable:+$variable=$chip}" "${stand_in:+LD_PRELOAD=/usr/lib/x86_64-linux-gnu/lib${stand_in}_noop_drm_shim.so}" "$@"
exec unshare --mount bash -euc '
  root=$1 here=$2 icd=$3; shift 3
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount --rbind /tmp "$root/tmp"
  mount --rbind "$here" "$root$here"
  exec chroot "$root" /usr/bin/env -C "$here" LD_LIBRARY_PATH=/opt/libraries MESA_SHADER_CACHE_DISABLE=true \
    VK_DRIVER_FILES="/usr/share/vulkan/icd.d/${icd}_icd.json" "$@"' newer_mesa "$root" "$PWD" "$icd" $1 $2 "${@:3}"
