#!/usr/bin/env bash
# The tarball of packaging/portable.sh in an empty root: nothing there but what was unpacked.
# usage: portable_test.sh SOURCE
set -euo pipefail
source_folder=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rung-portable-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

tarball=$(RUNG_NO_INSTALL=1 bash "$source_folder/packaging/portable.sh" "$scratch" 2> "$scratch/log") || { cat "$scratch/log"; fail "portable.sh"; }
size=$(stat -c %s "$tarball")
[ "$size" -lt $((25 * 1000 * 1000)) ] || fail "$size bytes; less than 25 MB expected"
mkdir "$scratch/root"
tar -C "$scratch/root" -xzf "$tarball"
folder=/$(ls "$scratch/root")
for file in bin/rung bin/rung-check doc/README.md doc/docs/tour.md report.html share/rung/results/precision-eva.json; do
  [ -s "$scratch/root$folder/$file" ] || fail "$file is not in the tarball"
done
if ldd "$scratch/root$folder/bin/rung" 2>&1 | grep -q '=>'; then fail "the program asks for shared libraries"; fi

# As root, or as nobody in particular where user namespaces are allowed.
inside() {
  if [ "$(id -u)" = 0 ]; then
    chroot "$scratch/root" "$folder/bin/$1" "${@:2}"
  else
    unshare --user --map-root-user --root="$scratch/root" "$folder/bin/$1" "${@:2}"
  fi
}
inside rung --version | grep -q '^rung [0-9]' || fail "no version"
inside rung show '(gdelta*3+full)*12' --context 128k 2> /dev/null | grep -q 'pattern *(R^3 F)^12' || fail "show"
inside rung bound 'full+linear*100' --width 2 --heads 1 --head-dim 2 --precision 4 --task seqcomp --context 8000 | grep -q impossible || fail "bound"
inside rung design --layers 24 --mixers full,linear --width 512 --heads 4 --need seqcomp:L=4 --context 4k 2> /dev/null | grep -q 'possible by' || fail "design"
inside rung build random --arch 'delta(heads=1,dim=2,vdim=1,form=plain)' --task eva --n 16 --precision 4 --width 4 --out /model.safetensors > /dev/null || fail "build"
inside rung break /model.safetensors --out /certificate.json > /dev/null || fail "break"
inside rung-check /certificate.json /model.safetensors | grep -q '^VERIFIED' || fail "rung-check"
inside rung report --out /page.html > /dev/null || fail "report"
grep -q 'rung-data' "$scratch/root/page.html" || fail "the report has no data"
inside rung task mqar --n 16 --count 2 --format jsonl | grep -q '"answer"' || fail "task"
