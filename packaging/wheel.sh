#!/usr/bin/env bash
# packaging/wheel.sh [PROGRAM FOLDER] [OUT]: the Python package as a wheel, with the programs rung and rung-check of that folder inside.
# Without a folder: the static programs of packaging/portable.sh, which run on every x86-64 Linux. Prints the wheel's path.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
programs=${1:-$root/build/portable}
out=${2:-$root/build/wheel}
[ -x "$programs/rung" ] || "$root/packaging/portable.sh" >&2
exec /usr/bin/python3 "$root/packaging/wheel.py" "$root" "$programs" "$out"
