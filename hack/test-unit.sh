#!/usr/bin/env bash
# Runs the unit tests, with the race detector wherever there is a C compiler.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# nginx, with which the rendered configurations are tested: where there is none,
# Debian's is unpacked into bin/, which takes no root and starts no server.
unpack_nginx() (
  folder=$(mktemp -d) && trap 'rm -rf "${folder}"' EXIT && cd "${folder}" || return
  apt-get --quiet=2 download nginx || { apt-get --quiet=2 update && apt-get --quiet=2 download nginx; } || return
  mkdir -p "${OLDPWD}/bin" && dpkg --extract nginx_*.deb "${OLDPWD}/bin/nginx"
)
PATH="${PATH}:${PWD}/bin/nginx/usr/sbin"
if ! command -v nginx >/dev/null && command -v apt-get >/dev/null; then
  echo "unpacking Debian's package nginx into bin/nginx"
  unpack_nginx || echo "nginx cannot be had: tests that serve files with it are skipped"
fi
# ssh, with which the stand-in for git-sync fetches from private repositories.
if ! command -v ssh >/dev/null && [[ ${EUID} -eq 0 ]] && command -v apt-get >/dev/null; then
  echo "installing Debian's package openssh-client"
  install=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes --no-install-recommends install openssh-client)
  "${install[@]}" || { apt-get --quiet=2 update && "${install[@]}"; } || echo "openssh-client cannot be installed: what takes ssh is skipped"
fi

flags=()
if [[ $(go env CGO_ENABLED) == 1 ]] && command -v "$(go env CC)" >/dev/null; then
  flags+=(-race)
else
  echo "no C compiler ($(go env CC)): the unit tests run without the race detector"
fi
go test "${flags[@]}" ./...
(cd hack/devcluster && go test "${flags[@]}" ./...)
# The other packages of this module need a cluster.
(cd test && go test "${flags[@]}" ./tracecollector/...)
