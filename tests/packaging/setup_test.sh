#!/usr/bin/env bash
# packaging/setup.sh against made-up dpkg-query, apt-get, sudo and id: what is missing is named, and only that.
# usage: setup_test.sh SOURCE
set -euo pipefail
source_folder=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rung-setup.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir -p "$scratch/clone/packaging" "$scratch/bin"
cp "$source_folder/packaging/setup.sh" "$scratch/clone/packaging/"
echo 'project(rung VERSION 7.8.9 LANGUAGES CXX' > "$scratch/clone/CMakeLists.txt"
cat > "$scratch/clone/packaging/packages.txt" << 'LIST'
# comment
build     present
build     absent
build     absent-too|present
build     first|second
test      for-tests
optional  luxury
LIST

# $1: shell code run after setup.sh; $2: user id; $3: what sudo -n answers, or nothing for a machine without sudo.
try() {
  rm -f "$scratch/apt"
  cat > "$scratch/session" << SESSION
. "$scratch/clone/packaging/setup.sh"
PATH=/usr/bin:/bin
dpkg-query() { case " \$* " in *" present "*) echo installed ;; *) return 1 ;; esac; }
apt-get() { echo "apt-get \$*" >> "$scratch/apt"; }
env() { while case \$1 in *=*) true ;; *) false ;; esac; do shift; done; "\$@"; }
id() { echo $2; }
command() { case \$2 in sudo) [ -n "$3" ] ;; *) builtin command "\$@" ;; esac; }
sudo() { if [ "\$1" = -n ]; then return $3; fi; echo sudo >> "$scratch/apt"; "\$@"; }
$1
SESSION
  bash -euo pipefail "$scratch/session" < /dev/null > "$scratch/out" 2> "$scratch/err"
}

try 'rung_packages nothing' 0 '' || fail "an empty list is no failure"
[ ! -e "$scratch/apt" ] || fail "apt-get ran with nothing missing"

try 'rung_packages build' 0 '' || fail "root could not install: $(cat "$scratch/err")"
grep -qE 'install .*--no-install-recommends absent first$' "$scratch/apt" || fail "installed: $(cat "$scratch/apt")"
grep -q 'Installing .*: absent first$' "$scratch/err" || fail "does not say what it installs: $(cat "$scratch/err")"
[ ! -s "$scratch/out" ] || fail "set-up writes on standard output"

try 'rung_packages build test' 1000 0 || fail "sudo was not used"
grep -qx sudo "$scratch/apt" || fail "installed without sudo"
grep -qE 'absent first for-tests$' "$scratch/apt" || fail "installed: $(cat "$scratch/apt")"

for sudo in '' 1; do
  if try 'rung_packages build; echo went on' 1000 "$sudo"; then fail "went on without root"; fi
  [ ! -e "$scratch/apt" ] || fail "apt-get ran without root"
  [ "$(grep -c 'apt-get install --yes --no-install-recommends absent first$' "$scratch/err")" = 1 ] ||
    fail "the line to run is not printed: $(cat "$scratch/err")"
  grep -q 'Without root: rung-7.8.9-x86_64-linux.tar.gz' "$scratch/err" || fail "the tarball is not named: $(cat "$scratch/err")"
done

RUNG_NO_INSTALL=1 try 'rung_packages build' 0 '' || fail "RUNG_NO_INSTALL"
[ ! -e "$scratch/apt" ] || fail "RUNG_NO_INSTALL=1 installed"
