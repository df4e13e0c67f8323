#!/usr/bin/env bash
# clean_machine.sh unpacks and runs, as root, what it finds in its folder: nobody else may have had a hand in it.
# Usage: clean_machine_test.sh SOURCE
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
script=$1/packaging/clean_machine.sh
work=$(mktemp -d /var/tmp/rung-trust.XXXXXXXXXX)
trap 'rm -rf -- "$work"' EXIT
refuses() {
  if bash "$script" --check "$1" 2> "$work/said"; then echo "accepted $1: $2" >&2; exit 1; fi
  grep -q '^clean_machine.sh: ' "$work/said" || { cat "$work/said" >&2; exit 1; }
}

mkdir -m 700 "$work/own"
bash "$script" --check "$work/own" # the one that is right
mkdir -m 755 "$work/seen";  refuses "$work/seen" "others can enter"
mkdir -m 777 "$work/open";  refuses "$work/open" "others can write"
mkdir -m 700 "$work/open/below"; refuses "$work/open/below" "others can rename it"
mkdir -m 700 "$work/theirs"; chown 65534 "$work/theirs"; refuses "$work/theirs" "another's"
ln -s own "$work/link"; refuses "$work/link" "a link"
refuses "$work/own/../own" "a path with .."
refuses "$work/./own" "a path with ."
refuses "$work/none" "nothing there"
refuses "/var/tmp/../../etc" "a path that leaves"
touch "$work/file"; chmod 700 "$work/file"; refuses "$work/file" "a file"
