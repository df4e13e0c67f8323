#!/usr/bin/env bash
# A machine without the optional libraries still configures, and says by name what it leaves out; without a required
# one, or with RUNG_LEARN=ON where there is nothing to build, it stops and says why.
# usage: optional_libraries_test.sh SOURCE CMAKE CXX
set -euo pipefail
source_folder=$1 cmake=$2 compiler=$3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rung-optional.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$scratch/log" >&2; exit 1; }
configure() {
  rm -rf "$scratch/build"
  "$cmake" -S "$source_folder" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DRUNG_TESTS=ON "$@" \
    > "$scratch/log" 2>&1
}

configure -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_tomlplusplus=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_SQLiteCpp=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DESBUILD= -DCHART_JS= -DRUNG_COQC= || fail "does not configure without the optional libraries"
for package in libcli11-dev libtomlplusplus-dev libsqlitecpp-dev libgtest-dev esbuild libjs-chart.js libopenmpi-dev coq; do
  grep -q "Left out: .*$package" "$scratch/log" || grep -A1 "Left out" "$scratch/log" | grep -q "$package" ||
    fail "does not say what is left out without $package"
done
if [ ! -d "$source_folder/rung/learn" ]; then
  if configure -DRUNG_LEARN=ON; then fail "RUNG_LEARN=ON configured without rung/learn"; fi
  grep -q 'no rung/learn yet' "$scratch/log" || fail "does not say why RUNG_LEARN=ON cannot be"
fi
