#!/usr/bin/env bash
# Two ranks of one thread beside one rank of one thread, in the same run: bench/ranks.sh [BUILD]
# Efficiency is what one rank takes over what two take together: by the clock (time of one over twice that of two), and by the processor (seconds that it was
# busy), which a loaded machine changes less. Searches that end by luck are compared by evaluations: in equal time, and for a busy second.
set -euo pipefail
build=$(realpath "${1:-build}")
here=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 RUNG_THREADS=1 OMP_NUM_THREADS=1
grep -m1 'model name' /proc/cpuinfo
uptime
mpirun --version | head -1

two() { mpirun --bind-to none -n 2 "$@"; }
timed() {  # clock and busy seconds
  TIMEFORMAT='%R %U %S'
  local spent
  spent=$({ time "$@" > out.json 2> errors.txt; } 2>&1) || { cat errors.txt >&2; exit 1; }
  awk '{ print $1, $2 + $3 }' <<< "$spent"
}
compare() {  # NAME "CLOCK BUSY" of one, of two
  awk -v name="$1" '{ printf "%-10s one rank %6.2f s (%6.2f busy), two ranks %6.2f s (%6.2f busy), efficiency %.2f by the clock, %.2f by the processor\n",
                      name, $1, $2, $3, $4, $1 / (2 * $3), $2 / $4 }' <<< "$2 $3"
}

a=$(timed "$build/rung" capacity two-sum --n 5 --M 26 --json)
b=$(timed two "$build/rung" capacity two-sum --n 5 --M 26 --json)
compare two-sum "$a" "$b"
a=$(timed "$build/rung" capacity eva --n 7 --json)
b=$(timed two "$build/rung" capacity eva --n 7 --json)
compare eva "$a" "$b"

if [ -x "$build/rung-learn" ]; then
  a=$(timed "$build/rung" lab --file "$here/ranks.toml" --out one --no-store --workers 1 --json)
  b=$(timed two "$build/rung" lab --file "$here/ranks.toml" --out two --no-store --workers 1 --json)
  compare lab "$a" "$b"
fi

# 80 bits of state: no search of seconds ends.
"$build/rung" build random --arch 'linear(heads=1,dim=2,feature=identity,normalised=no)' --task eva --n 32 --precision 20 --width 8 --seed 1 \
  --out model.safetensors > /dev/null
evaluations() { python3 -c 'import json; print(json.load(open("out.json"))["evaluations"])'; }
for method in distinguished-points states; do
  a=$(timed "$build/rung" break model.safetensors --method $method --budget 12s --json); x=$(evaluations)
  b=$(timed two "$build/rung" break model.safetensors --method $method --budget 12s --json); y=$(evaluations)
  awk -v name=$method -v x="$x" -v y="$y" '{ printf "%s: one rank %.3g evaluations (%.3g a busy second), two ranks %.3g (%.3g), efficiency %.2f by the clock, %.2f by the processor\n",
      name, x, x / $2, y, y / $4, y / (2 * x), (y / $4) / (x / $2) }' <<< "$a $b"
done
uptime
