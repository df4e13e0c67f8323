#!/usr/bin/env bash
# The proof that a clean clone works on a machine with nothing on it: a minimal Debian 12 in a folder (debootstrap,
# minbase: no compiler, no git, no certificates), a clone of this repository's HEAD inside, then ./test and ./run as
# root, both again without a network, the .deb on a second empty machine, and last a user without root.
#
#   packaging/clean_machine.sh [PARENT]      PARENT: /var/tmp; needs root and debootstrap, ten minutes
#
# Everything is in a folder of its own that nobody can foretell or enter, made in PARENT and removed at the end. With
# RUNG_KEEP=FOLDER it is that folder, which must be root's and closed to everybody else; it stays, and its base.tar, the
# empty system, is used the next time. RUNG_MIRROR names another mirror than the one this machine's apt uses.
set -euo pipefail
umask 022
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
say_no() { echo "clean_machine.sh: $2" >&2; exit "$1"; }

# What root unpacks and runs may have been written by root alone: a real folder, its own, closed to others, under folders
# that nobody else can rename.
trusted() {
  local path mode
  path=$(realpath --canonicalize-existing -- "$1") || say_no 2 "$1 is not there"
  [ "$path" = "$1" ] || say_no 2 "refusing $1: a path without links, . or .. expected"
  [ -d "$path" ] && [ "$(stat -c '%u %a' -- "$path")" = "0 700" ] || say_no 2 "refusing $path: a folder of root's with mode 700 expected"
  while [ "$path" != / ]; do
    path=$(dirname -- "$path")
    mode=$((8#$(stat -c %a -- "$path")))
    # A sticky folder takes files of others, who cannot rename what is not theirs.
    [ "$(stat -c %u -- "$path")" = 0 ] && (((mode & 8#022) == 0 || (mode & 8#1000) != 0)) ||
      say_no 2 "refusing $1: others can write to $path"
  done
}
[ "${1:-}" != --check ] || { trusted "$2"; exit 0; }

[ "$(id -u)" = 0 ] || say_no 3 "needs root: debootstrap and chroot do"
if [ -n "${RUNG_KEEP:-}" ]; then
  base=$RUNG_KEEP
else
  base=$(mktemp -d -- "$(realpath --canonicalize-existing -- "${1:-/var/tmp}")/rung-clean.XXXXXXXXXX")
  trap 'rm -rf --one-file-system -- "$base"' EXIT
fi
trusted "$base"
folder=$base/system archive=$base/base.tar
mirror=${RUNG_MIRROR:-$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | awk '$1 == "bookworm" { print $2; exit }')}

# A mount namespace of its own: /proc is there inside and nothing stays mounted outside.
enter() {
  unshare --mount "${namespaces[@]}" sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$folder" \
    /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true "$@" < /dev/null
}
inside() { local namespaces=(); enter "$@"; }
offline() { local namespaces=(--net); enter "$@"; }
part() { printf '== %s\n' "$*"; }

empty_machine() {
  rm -rf --one-file-system "$folder"
  mkdir -p "$folder"
  if [ ! -f "$archive" ]; then
    part "debootstrap bookworm from $mirror"
    debootstrap --variant=minbase bookworm "$folder" "$mirror" > "$base/debootstrap.log"
    tar -C "$folder" -cf "$archive.new" .
    mv "$archive.new" "$archive"
  else
    tar -C "$folder" -xf "$archive"
  fi
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
}

empty_machine
git clone --quiet --no-local "$root" "$folder/root/rung"

part "./test on an empty machine"
time inside /root/rung/test
part "./run"
time inside /root/rung/run
part "both again without a network and with a home that cannot be written"
time offline HOME=/proc /root/rung/test
time offline HOME=/proc /root/rung/run

part "the .deb"
inside sh -c 'cd /root/rung/build/release && cpack -G DEB > /dev/null && cp rung_*.deb /root/rung.deb'
cp "$folder/root/rung.deb" "$base/rung.deb"

part "a user without root, with a package missing: one line, a non-zero code"
inside dpkg --remove --force-depends librapidcheck-dev > /dev/null
inside useradd --create-home someone 2> /dev/null || true
cp -r "$folder/root/rung" "$folder/home/someone/rung"
inside chown -R someone /home/someone/rung
if inside su someone -c '/home/someone/rung/test'; then echo "./test went on without its packages" >&2; exit 1; fi

part "the .deb on an empty machine"
empty_machine
cp "$base/rung.deb" "$folder/root/rung.deb"
inside apt-get -qq update
inside env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends /root/rung.deb > /dev/null
inside rung --version
inside rung show 'full*3'
part "done"
