#!/usr/bin/env bash
# Training throughput beside its peers in one run: bench/training.sh [BUILD]. On a machine with a CUDA device the ensembles
# and PyTorch's eager loop; elsewhere the CPU table, whose peer is plain libtorch.
set -euo pipefail
build=${1:-build}
if command -v nvidia-smi > /dev/null && nvidia-smi -L > /dev/null 2>&1; then
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  "$build/bench/bench_training" cuda --members 32
  "$build/bench/bench_training" cuda --members 128
  python3 "$(dirname "$0")/training_peer.py"
else
  grep -m1 'model name' /proc/cpuinfo
  uptime
  "$build/bench/bench_training" cpu
fi
