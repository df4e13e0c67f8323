#!/usr/bin/env bash
# Trials of recipes for the depth test on a GPU: bench/depth_trials.sh PROGRAM OUT SECONDS [NAME...]
# Each row of trials() is one ensemble on L-SeqComp, L = 2: name, layers, values taught between (--deep; none: "-"), and more flags. Those that are named, or all,
# run at once (with the CUDA MPS daemon, nvidia-cuda-mps-control -d, they overlap) until they end or SECONDS are over. Prints, by trial and rate, how many members
# left the first stage, the best accuracy on the whole task of each that reached it, and the bits that members above 0.9 carry. bench/results/depth_trials.md keeps a run.
set -euo pipefail
rung=$(realpath "$1"); out=$2; seconds=$3; shift 3
names=" $* "
mkdir -p "$out"
trials() {
  local both='value=1,layer=1,back=2; value=1,layer=2,back=0' first='value=1,layer=1,back=2'
  local f3='full(heads=1,dim=32,vdim=3)' f4='full(heads=1,dim=32,vdim=4)' f8='full(heads=1,dim=32,vdim=8)' g4='full(heads=2,dim=32,vdim=4)'
  local binary="--position binary" rounded="--lr 1e-3,2e-3 --floor 0.2 --qat-after 13000" two="--lr 1e-3,3e-3 --floor 0.2" one="--lr 1e-3 --floor 0.1"
  local half="m=4,n1=4; m=8,n1=8"
  trial plain-9 "$f3*3" - "m=4,n1=4; m=6,n1=6" --m 9 --n1 9 $rounded --qat 5
  trial deep-9 "$f3*3" "$both" "m=4,n1=4; m=6,n1=6" --m 9 --n1 9 $rounded --qat 5
  trial FF-9 "$f3*2" "$first" "m=4,n1=4; m=6,n1=6" --m 9 --n1 9 $rounded --qat 5
  trial plain-11 "$f3*3" - "m=4,n1=4; m=7,n1=7" --m 11 --n1 11 $rounded --qat 6
  trial deep-11 "$f3*3" "$both" "m=4,n1=4; m=7,n1=7" --m 11 --n1 11 $rounded --qat 6
  trial plain-13 "$f4*3" - "$half" --m 13 --n1 13 $rounded --qat 6
  trial deep-13 "$f4*3" "$both" "$half" --m 13 --n1 13 $rounded --qat 6
  trial plain-16-8 "$f4*3" - "$half" --m 16 --n1 8 $binary $two
  trial deep-16-8 "$f4*3" "$both" "$half" --m 16 --n1 8 $binary $two
  trial FF-16-8 "$f4*2" "$first" "$half" --m 16 --n1 8 $binary $two
  trial RFF-16-8 "linear(heads=1,dim=4,vdim=4)+$f4*2" 'value=1,layer=2,back=0' "$half" --m 16 --n1 8 $binary $two
  trial values-4 "$f4*3" "$both" "$half" --m 16 --n1 16 $binary $two
  trial values-8 "$f8*3" "$both" "$half" --m 16 --n1 16 $binary $two
  trial values-10 'full(heads=1,dim=32,vdim=10)*3' "$both" "$half" --m 16 --n1 16 $binary $one
  trial stage-12 "$f8*3" "$both" "$half; m=12,n1=12" --m 16 --n1 16 $binary $one
  trial stage-16-8 "$f8*3" "$both" "$half; m=16,n1=8" --m 16 --n1 16 $binary $one
  trial tf32 "$f8*3" "$both" "$half" --m 16 --n1 16 $binary $one --precision tf32
  trial keys-64 'full(heads=1,dim=64,vdim=8)*3' "$both" "$half" --m 16 --n1 16 $binary $one
  trial decay "$f8*3" "$both" "$half" --m 16 --n1 16 $binary $one --weight-decay 0.1
  trial width-128 "$f8*3" "$both" "$half" --m 16 --n1 16 $binary $one --width 128
  trial slow "$f8*3" "$both" "$half" --m 16 --n1 16 $binary --lr 6e-4 --floor 0.02
  trial heads-2x5 'full(heads=2,dim=16,vdim=5)*3' "$both" "$half" --m 16 --n1 16 $binary $one
  trial heads-2x4 "$g4*3" "$both" "$half" --m 16 --n1 16 $binary $one
  trial heads-2x4-fast "$g4*3" "$both" "$half" --m 16 --n1 16 $binary --lr 2e-3 --floor 0.02
  trial smoothing "$f8*3" "$both" "$half" --m 16 --n1 16 $binary $one --advance 0.9 --label-smoothing 0.1
  trial dropout "$f8*3" "$both" "$half" --m 16 --n1 16 $binary $one --advance 0.9 --dropout 0.1
  local q48="--queries 48 --batch 32 $binary $one" m18="--m 18 --n1 18 $binary --floor 0.1 --steps 11000" m20="--m 16 --n1 20 $binary $one --steps 12000 --advance 0.9"
  local r8='mamba2(form=plain,heads=1,dim=4,state=2)' r6='mamba2(form=plain,heads=1,dim=3,state=2)' l44='linear(heads=1,dim=4,vdim=4)' last='value=1,layer=2,back=0'
  trial q48-values-4 "$f4*3" "$both" "$half" --m 16 --n1 16 $q48
  trial q48-values-4-at-once "$f4*3" "$both" - --m 16 --n1 16 $q48
  trial q48-values-8-at-once "$f8*3" "$both" - --m 16 --n1 16 $q48
  trial q48-values-6 'full(heads=1,dim=32,vdim=6)*3' "$both" "$half" --m 16 --n1 16 $q48 --advance 0.9
  trial q48-m24 "$f8*3" "$both" "$half; m=16,n1=16" --m 24 --n1 24 $q48 --advance 0.9
  trial q48-RFF "$l44+$f4*2" "$last" "$half" --m 16 --n1 16 $q48
  trial q48-FRF "$f4+$l44+$f4" "$both" "$half" --m 16 --n1 16 $q48
  trial q48-FF "$f4*2" "$first" "$half" --m 16 --n1 16 $q48
  trial m18-whole-25 "$f8*3" "$both" "$half" $m18 --lr 1e-3 --whole 0.25
  trial m18-whole-50 "$f8*3" "$both" "$half" $m18 --lr 1e-3 --whole 0.5
  trial m18-whole-25-fast "$f8*3" "$both" "$half" $m18 --lr 2e-3 --whole 0.25
  trial m18-RFF "$r8+$f8*2" "$last" "$half" $m18 --lr 1e-3 --whole 0.25
  trial m18-FRF "$f8+$r8+$f8" "$both" "$half" $m18 --lr 1e-3 --whole 0.25
  trial m20-whole-25 "$f8*3" "$both" "$half" --m 20 --n1 20 $binary $one --steps 11000 --whole 0.25
  trial n20-fine "$f8*3" "$both" "m=4,n1=4; m=6,n1=6; m=8,n1=8; m=10,n1=10; m=12,n1=12; m=14,n1=14; n1=16" $m20 --eval-every 100
  trial n20-floor "$f8*3" "$both" "$half" --m 16 --n1 20 $binary --lr 1e-3 --floor 0.3 --steps 12000 --advance 0.9
  trial n20-whole-10 "$f8*3" "$both" "$half" $m20 --whole 0.1
  trial n20-RFF-delta "delta(form=plain,heads=1,dim=2,vdim=3)+$f8*2" "$last" "$half" $m20
  trial n20-RFF-mamba2 "$r6+$f8*2" "$last" "$half" $m20
  trial n20-RFF-linear "linear(heads=1,dim=2,vdim=2)+$f8*2" "$last" "$half" $m20
  trial n20-RFF-linear-4x4 "$l44+$f8*2" "$last" "$half" $m20
  trial n20-FRF-linear-4x4 "$f8+$l44+$f8" "$both" "$half" $m20
  trial m32-n16 "$f8*3" "$both" "$half" --m 32 --n1 16 $binary $one --steps 12000 --advance 0.9
  # Tokens by their binary code: at the size that separates for values of 8 where 3 bits are carried, of 6 where 5 are; and on a CPU.
  local coded="--embedding binary $binary" small="--m 4 --n1 4 --width 32 --mlp 64 --queries 8 --batch 32 --lr 5e-3 --steps 4000 --eval-every 100 --precision fp32"
  local c8='full(heads=1,dim=16,vdim=8)' l8='linear(heads=1,dim=8)' f6='full(heads=1,dim=32,vdim=6)'
  trial coded-RFF-8 "$r6+$f8*2" "$last" "$half" --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial coded-RFF-6 "$r6+$f6*2" "$last" "$half" --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial coded-RFF-at-once "$r6+$f8*2" "$last" - --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial coded-FFF "$f8*3" "$both" "$half" --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial coded-FFF-2x4 "$g4*3" "$last" "$half" --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial coded-FFF-table-places "$f8*3" "$both" "$half" --m 16 --n1 16 --embedding binary --lr 1e-3,3e-3 --floor 0.1
  trial coded-FRF "$f8+$r6+$f8" "$both" "$half" --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial coded-FF "$f8*2" "$first" "$half" --m 16 --n1 16 $coded --lr 1e-3,3e-3 --floor 0.1
  trial cpu-RFF-coded "$l8+$c8*2" "$last" - $small $coded
  trial cpu-RFF-table "$l8+$c8*2" "$last" - $small
  trial cpu-FFF-coded "$c8*3" "$both" - $small $coded
  trial cpu-FFF-table "$c8*3" "$both" - $small
  # Questions 4 positions apart, and the tokens that a layer must have fetched read from the stream too.
  local told='value=1,layer=1,back=2; token=1,layer=1,back=0; value=1,layer=2,back=0' early='token=1,layer=1,back=0; token=2,layer=1,back=0; value=1,layer=2,back=0'
  local middle='value=1,layer=1,back=2; token=1,layer=2,back=0; value=1,layer=2,back=0'
  local apart="--m 16 --n1 16 $coded --spacing 4 --batch 32 --lr 1e-3,3e-3 --floor 0.1 --advance 0.9 --steps 8000"
  trial apart-FFF-8 "$f8*3" "$told" "$half" $apart
  trial apart-FFF-6 "$f6*3" "$told" "$half" $apart
  trial apart-FFF-4 "$f4*3" "$told" "$half" $apart
  trial apart-RFF-8 "$r6+$f8*2" "$early" "$half" $apart
  trial apart-RFF-6 "$r6+$f6*2" "$early" "$half" $apart
  trial apart-RFF-4 "$r6+$f4*2" "$early" "$half" $apart
  trial apart-FRF-6 "$f6+$r6+$f6" "$middle" "$half" $apart
  trial apart-FRF-4 "$f4+$r6+$f4" "$middle" "$half" $apart
  trial apart-FF-6 "$f6*2" "$first" "$half" $apart
  # The size that separates with room: one number a binary digit of a value, 4 * 10 * 7 < 32 * 10, and states of 12 numbers.
  local f10='full(heads=1,dim=32,vdim=10)' r12='mamba2(form=plain,heads=1,dim=6,state=2)' quarter="m=4,n1=4; m=8,n1=8; m=16,n1=16"
  local wide="--to-the-end --m 32 --n1 32 $coded --spacing 4 --queries 64 --batch 8 --lr 1e-3 --floor 0.1 --advance 0.9 --steps 6000"
  trial wide-FFF "$f10*3" "$told" "$quarter" $wide
  trial wide-RFF "$r12+$f10*2" "$early" "$quarter" $wide
  trial wide-RFF-one-slot "mamba2(form=plain,heads=1,dim=12,state=1)+$f10*2" "$early" "$quarter" $wide
  trial wide-RFF-delta "delta(form=plain,heads=1,dim=3,vdim=4)+$f10*2" "$early" "$quarter" $wide
  trial wide-FRF "$f10+$r12+$f10" "$told" "$quarter" $wide
  trial wide-FF "$f10*2" "$first" "$quarter" $wide
  # A recurrence with a head for the start and one for the choice; sizes at which values of 6 and 8 separate up to 5 and 6 bits.
  local h6='mamba2(form=plain,heads=2,dim=3,state=1)' h8='mamba2(form=plain,heads=2,dim=4,state=1)' h10='mamba2(form=plain,heads=2,dim=5,state=1)'
  local s4='mamba2(form=plain,heads=1,dim=4,state=1)' s5='mamba2(form=plain,heads=1,dim=5,state=1)'
  local two="--to-the-end --m 16 --n1 16 $coded --spacing 4 --batch 32 --lr 1e-3 --floor 0.1 --advance 0.9 --steps 8000"
  local long="--to-the-end --m 32 --n1 20 $coded --spacing 4 --queries 32 --batch 8 --lr 1e-3 --floor 0.1 --advance 0.9 --steps 8000"
  trial heads-FFF-6 "$f6*3" "$told" "$half" $two
  trial heads-FFF-5 'full(heads=1,dim=32,vdim=5)*3' "$told" "$half" $two
  trial heads-RFF-6 "$h6+$f6*2" "$early" "$half" $two
  trial heads-RFF-8 "$h8+$f6*2" "$early" "$half" $two
  trial heads-RFF-gru "gru(size=6)+$f6*2" "$early" "$half" $two
  trial heads-FRF-gru "$f6+gru(size=6)+$f6" "$told" "$half" $two
  trial heads-RFF-slow "$h6+$f6*2" "$early" "$half" ${two/1e-3/6e-4}
  trial heads-FRF-4 "$f6+$s4+$f6" "$told" "$half" $two
  trial heads-FRF-6 "$f6+$h6+$f6" "$told" "$half" $two
  trial long-FFF "$f8*3" "$told" "$quarter" $long
  trial long-RFF "$h10+$f8*2" "$early" "$quarter" $long
  trial long-FRF "$f8+$s5+$f8" "$told" "$quarter" $long
  trial RFF-2x4 "linear(heads=1,dim=4,vdim=4)+$g4*2" 'value=1,layer=2,back=0' "$half" --m 16 --n1 16 $binary $one
  # Values fetched and states rounded to few bits in the last part of a run: these separate at m = n1 = 16, whatever floats would carry. Other seeds than those of the experiment.
  local f5='full(heads=1,dim=32,vdim=5)' late="--to-the-end --m 16 --n1 16 $coded --spacing 4 --batch 32 --lr 1e-3 --floor 0.02 --advance 0.9 --steps 10000 --seed 101"
  local five="$late --qat-after 6000 --carry-bits 5"
  trial carry-FFF "$f6*3" "$told" "$half" $five
  trial carry-RFF "gru(size=6)+$f6*2" "$early" "$half" $five
  trial carry-FRF "$f6+gru(size=6)+$f6" "$told" "$half" $five
  trial carry-FF "$f6*2" "$first; token=1,layer=1,back=0" "$half" $five
  trial carry-FFF-4 "$f6*3" "$told" "$half" ${five/bits 5/bits 4}
  trial carry-RFF-4 "gru(size=6)+$f6*2" "$early" "$half" ${five/bits 5/bits 4}
  trial carry-FFF-5x5 "$f5*3" "$told" "$half" $five
  trial carry-RFF-5x5 "gru(size=5)+$f5*2" "$early" "$half" $five
  # A number for each binary digit of a value, three bits a number: 4 * 8 * 3 < 128, 8 * 3 < 32.
  local three_bits="${late/steps 10000/steps 8000} --qat-after 5000 --carry-bits 3" g8='gru(size=8)' more="$half; m=16,n1=8"
  trial digits-FFF "$f8*3" "$told" "$half" $three_bits
  trial digits-RFF "$g8+$f8*2" "$early" "$half" $three_bits
  trial digits-FRF "$f8+$g8+$f8" "$told" "$half" $three_bits
  trial digits-FFF-whole "$f8*3" "$told" "$half" $three_bits --whole 0.25
  trial digits-RFF-whole "$g8+$f8*2" "$early" "$half" $three_bits --whole 0.25
  trial digits-FRF-whole "$f8+$g8+$f8" "$told" "$half" $three_bits --whole 0.25
  trial digits-FFF-stages "$f8*3" "$told" "$more" $three_bits
  trial digits-RFF-stages "$g8+$f8*2" "$early" "$more" $three_bits
  trial digits-FRF-stages "$f8+$g8+$f8" "$told" "$more" $three_bits
  # What keeps a member from learning the last digits one value at a time: nothing rounded.
  local whole_run="${late/steps 10000/steps 6000}" word told_word
  for word in FFF FRF; do
    [ $word = FFF ] && told_word="$f8*3" || told_word="$f8+$g8+$f8"
    trial settle-$word-advance "$told_word" "$told" "$half" ${whole_run/advance 0.9/advance 0.98}
    trial settle-$word-decay "$told_word" "$told" "$half" $whole_run --weight-decay 0.1
    trial settle-$word-fast "$told_word" "$told" "$half" ${whole_run/lr 1e-3/lr 2e-3}
    trial settle-$word-slow "$told_word" "$told" "$half" ${whole_run/lr 1e-3/lr 5e-4}
    trial settle-$word-fast-advance "$told_word" "$told" "$half" ${whole_run/--lr 1e-3 --floor 0.02 --advance 0.9/--lr 2e-3 --floor 0.02 --advance 0.98}
    trial settle-$word-batch "$told_word" "$told" "$half" ${whole_run/batch 32/batch 64}
    trial settle-$word-keys "${told_word//dim=32/dim=64}" "$told" "$half" $whole_run
    trial settle-$word-keys-16 "${told_word//dim=32/dim=16}" "$told" "$half" $whole_run
    trial settle-$word-keys-8 "${told_word//dim=32/dim=8}" "$told" "$half" $whole_run
  done
  told_word="$g8+$f8*2"
  trial settle-RFF-keys-16 "${told_word//dim=32/dim=16}" "$early" "$half" $whole_run
  trial settle-RFF-keys-8 "${told_word//dim=32/dim=8}" "$early" "$half" $whole_run
  # Entries that no question of a stage asks for repeat those that one does (as every support does since).
  local repeat="${late/steps 10000/steps 4000} --qat-after 2500 --carry-bits 3 --seeds 8"
  trial repeat-FFF "$f8*3" "$told" "$half" $repeat
  trial repeat-RFF "$g8+$f8*2" "$early" "$half" $repeat
  trial repeat-FRF "$f8+$g8+$f8" "$told" "$half" $repeat
  trial repeat-WFF "full(window=4,heads=1,dim=32,vdim=8)+$f8*2" "$early" "$half" $repeat
  trial repeat-FF "$f8*2" "$first; token=1,layer=1,back=0" "$half" $repeat
  # Other layers in front, wider states, nothing rounded.
  trial front-linear "linear(heads=1,dim=8)+$f6*2" "$early" "$half" $late
  trial front-delta "delta(heads=1,dim=8)+$f6*2" "$early" "$half" $late
  trial front-gdelta "gdelta(heads=1,dim=8)+$f6*2" "$early" "$half" $late
  trial front-mamba2 "mamba2(heads=1,dim=8,state=8)+$f6*2" "$early" "$half" $late
  trial front-loglinear "loglinear(heads=1,dim=8)+$f6*2" "$early" "$half" $late
  trial front-window "full(window=4,heads=1,dim=32,vdim=6)+$f6*2" "$early" "$half" $late
  # Three functions, at a size that does not separate.
  local told3='value=1,layer=1,back=3; token=1,layer=1,back=0; token=2,layer=1,back=0; value=1,layer=2,back=0; value=2,layer=3,back=0'
  local early3='token=1,layer=1,back=0; token=2,layer=1,back=0; token=3,layer=1,back=0; value=1,layer=2,back=0; value=2,layer=3,back=0'
  local middle3='value=1,layer=1,back=3; token=1,layer=2,back=0; token=2,layer=2,back=0; value=1,layer=2,back=0; value=2,layer=3,back=0'
  local pair='full(heads=2,dim=32,vdim=8)' three="--to-the-end --L 3 --m 4 --n1 4 --n2 4 $coded --spacing 4 --batch 64 --lr 1e-3,3e-3 --floor 0.02 --steps 8000 --seed 101"
  trial three-FFFF "$pair*4" "$told3" - $three
  trial three-RFFF "gru(size=16)+$pair*3" "$early3" - $three
  trial three-FRFF "$pair+gru(size=16)+$pair*2" "$middle3" - $three
}
trial() {
  local name=$1 arch=$2 deep=$3 support=$4 stop="--stop-at 0.999"; shift 4
  [ "$1" != --to-the-end ] || { stop=; shift; }
  [ "$names" = "  " ] || [[ "$names" = *" $name "* ]] || return 0
  [ "$deep" = - ] || set -- "$@" --supervision deep --deep "$deep"
  [ "$support" = - ] || set -- "$@" --support "$support"
  local flag value
  while read -r flag value; do [[ " $* " = *" $flag "* ]] || set -- "$@" "$flag" "$value"; done <<< "--L 2
--seeds 4
--precision bf16
--width 64
--queries 16
--batch 64
--steps 16000
--eval-every 250"
  timeout -s INT "$seconds" "$rung" train "$arch" --task seqcomp --parts --warmup 500 --eval-count 512 $stop --carried-bits \
    --device "${DEVICE:-cuda}" --no-store --json --out "$out/$name" "$@" > "$out/$name.json" 2> "$out/$name.txt" &
}
trials
wait
python3 - "$out" <<'P'
import csv, glob, json, os, sys
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*", "curves.csv"))):
    rates = {}
    with open(path, encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            rates.setdefault(row["rate"], {}).setdefault(row["member"], []).append((int(row["step"]), int(row["stage"]), float(row["accuracy_0"])))
    with open(os.path.join(os.path.dirname(path), "plan.json"), encoding="utf-8") as plan:
        last = len(json.load(plan).get("support", []))  # the stage that is the whole task
    bits = {}
    try:
        with open(os.path.dirname(path) + ".json", encoding="utf-8") as result:
            for member in json.load(result)["members"]:
                if member.get("accuracy", 0) >= 0.9:
                    bits.setdefault(f"{member['rate']:g}", []).append(str(member.get("carried_bits", "-")))
    except (OSError, ValueError):
        pass  # stopped before its end
    for rate, members in rates.items():
        left = sum(points[-1][1] > 0 for points in members.values())
        whole = sorted((max(p[2] for p in points) for points in members.values() if points[-1][1] == last), reverse=True)
        print(f"| {os.path.basename(os.path.dirname(path))} | {rate} | {max(p[-1][0] for p in members.values())} | {left} of {len(members)} | "
              f"{' '.join(f'{best:.2f}' for best in whole)} | {' '.join(bits.get(f'{float(rate):g}', []))} |")
P
