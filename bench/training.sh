#!/usr/bin/env bash
# Training throughput beside its peers in one run: bench/training.sh [BUILD]. On a machine with a CUDA device the ensembles
# and PyTorch's loop, eager and as one graph, then wider models and longer contexts, one model and several; elsewhere the CPU
# table, whose peer is plain libtorch.
set -euo pipefail
build=${1:-build}
here=$(dirname "$0")
if command -v nvidia-smi > /dev/null && nvidia-smi -L > /dev/null 2>&1; then
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  "$build/bench/bench_training" cuda --members 32
  "$build/bench/bench_training" cuda --members 128
  python3 "$here/training_peer.py" --compile
  for sizes in "--width 128 --heads 4 --context 512" "--width 256 --heads 4 --context 1024" "--width 512 --heads 8 --context 4096 --batch 16"; do
    for members in 1 4; do
      # shellcheck disable=SC2086
      "$build/bench/bench_training" cuda --members $members $sizes 'full*4' 'plain(delta*4)' 'plain(mamba2*4)'
    done
    # shellcheck disable=SC2086
    python3 "$here/training_peer.py" $sizes --compile
  done
else
  grep -m1 'model name' /proc/cpuinfo
  uptime
  "$build/bench/bench_training" cpu
fi
