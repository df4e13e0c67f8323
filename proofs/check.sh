#!/usr/bin/env bash
# check.sh SOURCE BUILD: compiles every .v of SOURCE in BUILD, refuses what is not a proof, prints the assumptions of
# every theorem of Statements.v, and builds the extracted counts.
# Leaves BUILD/closed.txt (the theorems that rest on nothing) and BUILD/counts (the program of driver.ml).
# Exit status 0: every theorem is closed. 1: one is not, or something does not compile.
set -euo pipefail
source=$(cd "$1" && pwd)
mkdir -p "$2"
build=$(cd "$2" && pwd)

fail() { echo "[proofs] $*" >&2; exit 1; }

# Comments aside, these words open a hole.
for file in "$source"/*.v; do
  if perl -0pe '1 while s/\(\*(?:(?!\(\*|\*\)).)*\*\)//s' "$file" |
     grep -nwE 'Admitted|admit|give_up|Axiom|Axioms|Parameter|Parameters|Conjecture|bypass_check' ; then
    fail "$(basename "$file") admits what it should prove"
  fi
done

cd "$build"
rm -f closed.txt counts
for file in *.v; do [ -e "$source/$file" ] || rm -f "${file%.v}".*; done
for file in "$source"/*.v "$source"/driver.ml; do
  cmp -s "$file" "$(basename "$file")" || cp "$file" .
done
coq_makefile -Q . Rung $(cd "$source" && ls ./*.v | grep -v Extract.v) -o Makefile.coq >/dev/null
make -s -f Makefile.coq -j "${RUNG_PROOF_JOBS:-2}"

theorems=$(grep -oP '^Theorem \K\w+' Statements.v)
{
  echo 'From Rung Require Import Statements.'
  for theorem in $theorems; do echo "Print Assumptions $theorem."; done
} > assumptions.v
coqc -Q . Rung assumptions.v > assumptions.txt
closed=$(grep -c '^Closed under the global context$' assumptions.txt || true)
[ "$closed" = "$(echo "$theorems" | wc -w)" ] && ! grep -q '^Axioms:' assumptions.txt ||
  fail "some theorem of Statements.v rests on axioms: see $build/assumptions.txt"

coqc -Q . Rung Extract.v >/dev/null
ocamlopt -w -a counts.mli counts.ml driver.ml -o counts
echo "$theorems" > closed.txt
echo "$(echo "$theorems" | wc -w) theorems, closed under the global context"
