#!/usr/bin/env bash
# Provides the tools of tests that are named as arguments, with Debian's packages: nginx and
# prometheus are unpacked into the user's cache, which takes no root; ssh and chromium are installed, as root.
# Without a tool, the tests that need it are skipped, so nothing here fails the run.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The lists of packages may be outdated.
apt() { apt-get --quiet=2 "$@" || { apt-get --quiet=2 update && apt-get --quiet=2 "$@"; }; }

unpack() (
  dir=$(mktemp -d) && trap 'rm -rf "${dir}"' EXIT && cd "${dir}" || return
  apt download "$1" && dpkg --extract "$1"_*.deb "$1" || return
  # Another checkout may unpack the same.
  mkdir -p "${TOOLS}" && { mv --no-target-directory "$1" "${TOOLS}/$1" || [[ -d ${TOOLS}/$1 ]]; }
)

install() {
  [[ ${EUID} -eq 0 ]] || return
  DEBIAN_FRONTEND=noninteractive apt --yes --no-install-recommends install "$@"
}

# The programs of each tool, and its packages.
missing() { for program in "$@"; do command -v "${program}" >/dev/null || return 0; done; return 1; }

TOOLS="${XDG_CACHE_HOME:-${HOME}/.cache}/website-apiserver/tools"
PATH="${PATH}:${TOOLS}/nginx/usr/sbin:${TOOLS}/prometheus/usr/bin"
command -v apt-get >/dev/null || exit 0
for tool in "$@"; do
  case ${tool} in
    nginx | prometheus) programs=("${tool}") packages=("${tool}") provide=unpack ;;
    ssh) programs=(ssh) packages=(openssh-client) provide=install ;;
    # certutil has the browser trust a CA.
    chromium) programs=(chromium certutil) packages=(chromium libnss3-tools) provide=install ;;
    *) echo "$0: unknown tool ${tool}" >&2; exit 1 ;;
  esac
  missing "${programs[@]}" || continue
  echo "${tool} is missing: downloading Debian's packages ${packages[*]}"
  "${provide}" "${packages[@]}" || echo "no ${tool}: tests that need it are skipped"
done
