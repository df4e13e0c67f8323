#!/usr/bin/env bash
# Installs into a folder, moves the folder, and builds and runs a stranger's program against what was moved.
# usage: installed_tree_test.sh SOURCE BUILD CMAKE CXX
set -euo pipefail
source_folder=$1 build_folder=$2 cmake=$3 compiler=$4
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rung-install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$cmake" --install "$build_folder" --prefix "$scratch/first" > "$scratch/install.log"
mkdir "$scratch/moved"
mv "$scratch/first" "$scratch/moved/tree"
tree=$scratch/moved/tree

for file in bin/rung bin/rung-check include/rung/base/result.h share/man/man1/rung.1 share/bash-completion/completions/rung \
            share/doc/rung/README.md share/doc/rung/LICENSE share/doc/rung/docs/layers.md; do
  [ -s "$tree/$file" ] || fail "$file is not in the installed tree"
done
"$tree/bin/rung" --version | grep -q '^rung [0-9]' || fail "the installed program does not say its version"
# The report carries its page; its records come from the tree. Where the page was left out, it says what is missing.
if (cd "$scratch" && "$tree/bin/rung" report --out page.html > report.log 2>&1); then
  grep -q 'rung-data' "$scratch/page.html" || fail "the report has no data"
else
  grep -q 'missing Debian packages' "$scratch/report.log" || { cat "$scratch/report.log"; fail "the installed program makes no report"; }
fi
[ -s "$tree/share/rung/results/precision-eva.json" ] || fail "the records are not in the installed tree"
# Nothing that CMake reads may point back to where the tree was made.
if grep -rnF -e "$source_folder" -e "$build_folder" -e "$scratch/first" "$tree/lib" --include='*.cmake'; then
  fail "the package names a folder of the machine that built it"
fi

"$cmake" -S "$source_folder/tests/packaging/consumer" -B "$scratch/consumer" -G Ninja \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$tree" > "$scratch/configure.log" 2>&1 ||
  { cat "$scratch/configure.log"; fail "the consumer does not configure"; }
"$cmake" --build "$scratch/consumer" > "$scratch/build.log" 2>&1 ||
  { cat "$scratch/build.log"; fail "the consumer does not build"; }
"$scratch/consumer/consumer" || fail "the consumer does not run"
