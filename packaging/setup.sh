# Sourced by ./run and ./test: the Debian packages, then the build by one of the presets.
# Everything said here goes to standard error, so that `./run show full --json` keeps its standard output clean.
#
#   rung_packages build test     installs what packages.txt lists under these purposes and is missing
#   rung_configure release       configures the preset
#   rung_build release TEXT [TARGET...]   builds it, or only these targets; TEXT says how long that takes
#
# RUNG_NO_INSTALL=1 leaves packages alone: for machines whose libraries come from elsewhere.

rung_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# Debian's tools, whatever else a developer's PATH puts in front of them.
export PATH="/usr/bin:/bin:/usr/sbin:/sbin:$PATH"
export DEBIAN_FRONTEND=noninteractive

rung_say() { printf '%s\n' "$*" >&2; }

rung_version() { sed -n 's/^project(rung VERSION \([0-9.]*\).*/\1/p' "$rung_root/CMakeLists.txt"; }

rung_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the missing packages of the given purposes, one a line.
rung_missing() {
  local purpose package wanted alternative found
  while read -r purpose package; do
    case $purpose in '' | '#'*) continue ;; esac
    for wanted in "$@"; do
      [ "$purpose" = "$wanted" ] || continue
      found=no
      for alternative in ${package//|/ }; do
        if rung_installed "$alternative"; then found=yes; fi
      done
      [ $found = yes ] || printf '%s\n' "${package%%|*}"
    done
  done < "$rung_root/packaging/packages.txt"
}

rung_packages() {
  [ -z "${RUNG_NO_INSTALL:-}" ] || return 0
  if ! command -v dpkg-query > /dev/null; then
    rung_say "This is no Debian: nothing is installed; packaging/packages.txt lists what the build looks for."
    return 0
  fi
  local missing as_root=()
  mapfile -t missing < <(rung_missing "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local install=(apt-get install --yes --no-install-recommends "${missing[@]}")
  if [ "$(id -u)" != 0 ]; then
    # A password can be typed on a terminal only.
    if command -v sudo > /dev/null && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
      as_root=(sudo)
    else
      rung_say "Debian packages are missing, and installing them needs root. Run this line as root, then come back:"
      rung_say ""
      rung_say "  apt-get update && ${install[*]}"
      rung_say ""
      rung_say "Without root: rung-$(rung_version)-x86_64-linux.tar.gz runs from any folder with nothing installed (all but training);"
      rung_say "packaging/portable.sh makes it on a machine that has the packages."
      exit 3
    fi
  fi
  rung_say "Installing Debian packages (a minute or two): ${missing[*]}"
  local log
  log=$(mktemp "${TMPDIR:-/tmp}/rung-apt.XXXXXX")
  local options=(-o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  local root_env=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive)
  # A stale or absent package list is the common failure of a first install; a failed update alone is not fatal.
  "${root_env[@]}" apt-get "${options[@]}" update < /dev/null > "$log" 2>&1 || true
  if ! "${root_env[@]}" "${install[0]}" "${options[@]}" "${install[@]:1}" < /dev/null >> "$log" 2>&1; then
    tail -n 20 "$log" >&2
    rung_say "The packages could not be installed; the whole log is $log. The line to run as root:"
    rung_say "  apt-get update && ${install[*]}"
    exit 3
  fi
  rm -f "$log"
}

rung_configure() {
  local preset=$1 tree="$rung_root/build/$1"
  # A build tree that was configured elsewhere (a moved or copied clone) starts again.
  if [ -f "$tree/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$rung_root" "$tree/CMakeCache.txt"; then
    rm -rf "$tree"
  fi
  # ccache writes below HOME; where it cannot, it would fail every compilation.
  local cache=${CCACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}}
  mkdir -p "$cache" 2> /dev/null && [ -w "$cache" ] || export CCACHE_DISABLE=1
  mkdir -p "$rung_root/build"
  rung_say "Configuring build/$preset (a few seconds)"
  (cd "$rung_root" && CXX=/usr/bin/g++ cmake --preset "$preset" > "$rung_root/build/$preset.log" 2>&1) || {
    cat "$rung_root/build/$preset.log" >&2
    exit 4
  }
}

rung_build() {
  local preset=$1 takes=$2
  shift 2
  rung_say "Building build/$preset${*:+: $*} ($takes; seconds when nothing changed)"
  (cd "$rung_root" && cmake --build --preset "$preset" --parallel "$(nproc)" ${*:+--target "$@"} >&2) || exit 4
}
