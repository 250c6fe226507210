#!/usr/bin/env bash
# Makes a release of HEAD in dist/release-VERSION: `tools/release.sh [--no-packages]`. The sources as an archive, the packages (tools/package.sh), the
# wheel (tools/wheel.sh), SHA256SUMS, and TAG, the text of the tag: CHANGELOG's section of this version. It makes no tag: it prints the
# line that does. --no-packages: the sources, the sums and the text alone.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=1
case ${1-} in
  '') ;;
  --no-packages) packages= ;;
  *) printf 'release.sh: unknown option %s (only --no-packages)\n' "$1" >&2; exit 2 ;;
esac
version=$(sed -nE 's/^project\(vxla VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
stop() { printf 'release.sh: %s\n' "$1" >&2; exit 2; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || stop "the checkout has changes: a release is of a commit"
for file in CITATION.cff packaging/conan/conanfile.py packaging/vcpkg/vcpkg.json; do
  grep -qF "$version" "$file" || stop "$file does not say $version, which CMakeLists.txt says"
done
text=$(awk -v version="$version" '/^## /{inside = index($2, version) == 1} inside' CHANGELOG.md)
[ -n "$text" ] || stop "CHANGELOG.md has no section \"## $version\""
case $text in *"not released yet"*) printf 'release.sh: note: CHANGELOG.md says that %s is not released yet: give it its day\n' "$version" >&2 ;; esac
out=dist/release-$version
rm -rf "$out"
mkdir -p "$out"
printf 'vxla %s\n\n%s\n' "$version" "$text" >"$out/TAG"
# The same bytes whoever makes it: git archive's time is the commit's, and gzip keeps none.
git archive --format=tar --prefix="vxla-$version/" HEAD | gzip -n9 >"$out/vxla-$version-source.tar.gz"
if [ -n "$packages" ]; then
  tools/package.sh
  tools/wheel.sh
  cp dist/*.deb dist/vxla-"$version"*.tar.gz dist/vxla-"$version"*.whl "$out/"
fi
(cd "$out" && sha256sum -- *.tar.gz $(ls -- *.deb *.whl 2>/dev/null) | sort -k 2 -u >SHA256SUMS)
printf '%s: %s files of %s\n' "$out" "$(wc -l <"$out/SHA256SUMS")" "$(git rev-parse --short HEAD)"
printf 'to tag it: git tag -a v%s -F %s\n' "$version" "$out/TAG"
