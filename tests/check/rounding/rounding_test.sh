#!/usr/bin/env bash
# A machine with one wrong rounding is caught: what it certifies of a model is rejected, what the right one certifies of the same
# model is verified. usage: rounding_test.sh RUNG_CHECK RIGHT_ISSUER WRONG_ISSUER
set -euo pipefail
check=$1 right=$2 wrong=$3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rung-rounding.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

for kind in collision fooling-pair; do
  model=$scratch/$kind.safetensors
  "$right" model "$kind" "$model"
  "$right" "$kind" "$model" "$scratch/right.json"
  "$wrong" "$kind" "$model" "$scratch/wrong.json"
  cmp -s "$scratch/right.json" "$scratch/wrong.json" && fail "$kind: the two machines say the same"
  "$check" "$scratch/right.json" "$model" || fail "$kind: the right machine's certificate is not verified"
  code=0
  "$check" "$scratch/wrong.json" "$model" || code=$?
  [ "$code" = 1 ] || fail "$kind: exit code $code for the wrong machine's certificate; 1 expected"
done
