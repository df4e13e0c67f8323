#!/usr/bin/env bash
# Makes the .deb and looks inside. usage: deb_test.sh BUILD CPACK
set -euo pipefail
build_folder=$1 cpack=$2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rung-deb.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

(cd "$scratch" && "$cpack" -G DEB --config "$build_folder/CPackConfig.cmake" -B "$scratch/out") > "$scratch/log" 2>&1 ||
  { cat "$scratch/log"; fail "cpack -G DEB"; }
packages=("$scratch"/out/*.deb)
[ ${#packages[@]} = 1 ] || fail "one package is expected, found: ${packages[*]}"
package=${packages[0]}
case $(basename "$package") in rung_*_*.deb) ;; *) fail "the file is called $(basename "$package")" ;; esac

[ "$(dpkg-deb -f "$package" Package)" = rung ] || fail "the package is not called rung"
depends=$(dpkg-deb -f "$package" Depends)
for library in libc6 libstdc++6 libfmt libssl libsqlite3; do
  case $depends in *$library*) ;; *) fail "Depends does not name $library: $depends" ;; esac
done
dpkg-deb -c "$package" > "$scratch/contents"
for file in ./usr/bin/rung ./usr/bin/rung-check ./usr/include/rung/base/result.h ./usr/share/man/man1/rung.1 ./usr/share/doc/rung/copyright; do
  grep -qE "[ ]$file\$" "$scratch/contents" || { cat "$scratch/contents"; fail "$file is not in the package"; }
done
dpkg-deb -x "$package" "$scratch/root"
"$scratch/root/usr/bin/rung" --version | grep -q '^rung [0-9]' || fail "the packaged program does not run"
"$scratch/root/usr/bin/rung-check" --version | grep -q '^rung-check [0-9]' || fail "the packaged checker does not run"
