#!/usr/bin/env bash
# Trials of recipes for the depth test on a GPU, several at once: bench/depth_trials.sh PROGRAM OUT [SECONDS]
# One row of trials() is one ensemble of L-SeqComp, L = 2: name, layers, values taught between (--deep), sizes, more flags. Every run ends after SECONDS (560);
# its curves are summed up: by member the steps, the step at which each stage began, the best accuracy on the whole task, and the last.
# bench/results/depth_trials.md keeps a run. With the CUDA MPS daemon (nvidia-cuda-mps-control -d) the runs overlap.
set -euo pipefail
rung=$(realpath "$1"); out=$2; seconds=${3:-560}
mkdir -p "$out"
trials() {
  local one='full(heads=1,dim=32,vdim=8)' two='full(heads=2,dim=32,vdim=4)' narrow='full(heads=1,dim=32,vdim=4)'
  local both='value=1,layer=1,back=2; value=1,layer=2,back=0'
  trial plain "$narrow*3" "" --m 16 --n1 8 --lr 1e-3,3e-3 --floor 0.2
  trial deep "$narrow*3" "$both" --m 16 --n1 8 --lr 1e-3,3e-3 --floor 0.2
  trial wider "$one*3" "$both" --m 16 --n1 16 --lr 1e-3,3e-3 --floor 0.2
  trial two-layers "$narrow*2" 'value=1,layer=1,back=2' --m 16 --n1 8 --lr 1e-3,3e-3 --floor 0.2
  trial early "linear(heads=1,dim=4,vdim=4)+$narrow*2" 'value=1,layer=2,back=0' --m 16 --n1 8 --lr 1e-3,3e-3 --floor 0.2
  trial two-heads "$two*3" "$both" --m 16 --n1 16 --lr 1e-3 --floor 0.1
  trial two-heads-fast "$two*3" "$both" --m 16 --n1 16 --lr 2e-3 --floor 0.02
}
trial() {
  local name=$1 arch=$2 deep=$3; shift 3
  [ -z "$deep" ] || set -- "$@" --supervision deep --deep "$deep"
  timeout -s INT "$seconds" "$rung" train "$arch" --width 64 --position binary --task seqcomp --L 2 --parts --queries 16 --support 'm=4,n1=4; m=8,n1=8' \
    --steps 16000 --batch 64 --warmup 500 --seeds 4 --precision bf16 --eval-every 250 --eval-count 512 --stop-at 0.999 --device cuda --no-store --quiet \
    --out "$out/$name" "$@" > "$out/$name.txt" 2>&1 &
}
trials
wait || true
python3 - "$out" <<'P'
import csv, glob, os, sys
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*", "curves.csv"))):
    members = {}
    with open(path, encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            members.setdefault((row["seed"], row["rate"]), []).append((int(row["step"]), int(row["stage"]), float(row["accuracy_0"])))
    print(os.path.basename(os.path.dirname(path)))
    for (seed, rate), points in members.items():
        began = {}
        for step, stage, _ in points:
            began.setdefault(stage, step)
        print(f"  seed {seed}, rate {rate}: {points[-1][0]} steps, stages {' '.join(f'{s}@{t}' for s, t in began.items())}, "
              f"best {max(p[2] for p in points):.3f}, last {points[-1][2]:.3f}")
P
