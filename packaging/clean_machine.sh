#!/usr/bin/env bash
# The proof that a clean clone works on a machine with nothing on it: a minimal Debian 12 in a folder (debootstrap,
# minbase: no compiler, no git, no certificates), a clone of this repository's HEAD inside, then ./test and ./run as
# root, both again without a network, the .deb on a second empty machine, and last a user without root.
#
#   packaging/clean_machine.sh [FOLDER]      FOLDER: /var/tmp/rung-clean; needs root and debootstrap, ten minutes
#
# RUNG_MIRROR names another mirror than the one this machine's apt uses. FOLDER.tar keeps the empty system for the next time.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-/var/tmp/rung-clean}
archive=$folder.tar
mirror=${RUNG_MIRROR:-$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | awk '$1 == "bookworm" { print $2; exit }')}
[ "$(id -u)" = 0 ] || { echo "clean_machine.sh needs root: debootstrap and chroot do" >&2; exit 3; }
case $folder in /var/tmp/* | /tmp/* | /srv/*) ;; *) echo "refusing to replace $folder" >&2; exit 2 ;; esac

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
    debootstrap --variant=minbase bookworm "$folder" "$mirror" > "$folder.log"
    tar -C "$folder" -cf "$archive" .
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
cp "$folder/root/rung.deb" "$folder.deb"

part "a user without root, with a package missing: one line, a non-zero code"
inside dpkg --remove --force-depends librapidcheck-dev > /dev/null
inside useradd --create-home someone 2> /dev/null || true
cp -r "$folder/root/rung" "$folder/home/someone/rung"
inside chown -R someone /home/someone/rung
if inside su someone -c '/home/someone/rung/test'; then echo "./test went on without its packages" >&2; exit 1; fi

part "the .deb on an empty machine"
empty_machine
cp "$folder.deb" "$folder/root/rung.deb"
inside apt-get -qq update
inside env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends /root/rung.deb > /dev/null
inside rung --version
inside rung show 'full*3'
part "done"
