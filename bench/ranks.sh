#!/usr/bin/env bash
# Two ranks of one thread beside one rank of one thread, in the same run: bench/ranks.sh [BUILD]
# Efficiency is the time of one rank over twice that of two; 1 is the best there can be. The searches that end by luck are measured by their rate.
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

now() { date +%s.%N; }
one() { taskset -c 0 "$@"; }
two() { mpirun --bind-to none -n 2 "$@"; }
timed() { local start; start=$(now); "$@" > out.json 2> errors.txt || { cat errors.txt >&2; exit 1; }; echo "$(now) - $start" | bc -l; }
compare() {  # NAME ONE TWO, in seconds
  printf '%-10s one rank %7.2f s, two ranks %7.2f s, efficiency %.2f\n' "$1" "$2" "$3" "$(echo "$2 / (2 * $3)" | bc -l)"
}

a=$(timed one "$build/rung" capacity two-sum --n 5 --M 26 --json)
b=$(timed two "$build/rung" capacity two-sum --n 5 --M 26 --json)
compare capacity "$a" "$b"

if [ -x "$build/rung-learn" ]; then
  a=$(timed one "$build/rung" lab --file "$here/ranks.toml" --out one --no-store --workers 1 --json)
  b=$(timed two "$build/rung" lab --file "$here/ranks.toml" --out two --no-store --workers 1 --json)
  compare lab "$a" "$b"
fi

"$build/rung" build random --arch 'linear(heads=1,dim=2,feature=identity,normalised=no)' --task eva --n 32 --precision 20 --width 8 --seed 1 --out model.safetensors > /dev/null
rate() { python3 -c 'import json; d = json.load(open("out.json")); print(d["evaluations"] / d["seconds"])'; }
for method in distinguished-points states; do
  timed one "$build/rung" break model.safetensors --method $method --budget 15s --json > /dev/null; a=$(rate)
  timed two "$build/rung" break model.safetensors --method $method --budget 15s --json > /dev/null; b=$(rate)
  printf '%-10s %s: one rank %.3g evaluations/s, two ranks %.3g/s, efficiency %.2f\n' break $method "$a" "$b" "$(python3 -c "print($b / (2 * $a))")"
done
uptime
