#!/usr/bin/env bash
# One tarball for an x86-64 Linux with nothing installed, no root and no compiler: the program without training, the
# checker, the report's page, the pages and the shipped results; statically linked.
#
#   packaging/portable.sh [FOLDER]      writes FOLDER/rung-VERSION-x86_64-linux.tar.gz (FOLDER: build) and prints its path
#
# Unpacked anywhere: rung-VERSION-x86_64-linux/bin/rung. Two builds of the same commit hold the same files.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

rung_packages build
rung_configure portable
rung_build portable "some minutes the first time"
out=${1:-$rung_root/build}
mkdir -p "$out"
name=rung-$(rung_version)-x86_64-linux
staging=$(mktemp -d "${TMPDIR:-/tmp}/rung-portable.XXXXXX")
trap 'rm -rf "$staging"' EXIT
cmake --install "$rung_root/build/portable" --prefix "$staging/$name" --strip > /dev/null
# For those who compile against the libraries there is the .deb.
rm -rf "$staging/$name/lib" "$staging/$name/include"
mv "$staging/$name/share/doc/rung" "$staging/$name/doc"
rmdir "$staging/$name/share/doc"
mkdir "$staging/none"
"$staging/$name/bin/rung" report --out "$staging/$name/report.html" --hierarchy "$staging/none" > /dev/null
tar -C "$staging" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" | gzip -9n > "$out/$name.tar.gz.new"
mv "$out/$name.tar.gz.new" "$out/$name.tar.gz"
printf '%s\n' "$out/$name.tar.gz"
