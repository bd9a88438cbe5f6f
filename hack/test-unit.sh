#!/usr/bin/env bash
# Runs the unit tests, with the race detector wherever there is a C compiler.
set -o errexit -o nounset -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "${ROOT}"

# nginx, with which the rendered configurations are tested, and Prometheus, which checks its
# rules: what is missing is unpacked from Debian's package of that name into bin/, which takes
# no root and starts no server.
unpack() (
  dir=$(mktemp -d) && trap 'rm -rf "${dir}"' EXIT && cd "${dir}" || return
  apt-get --quiet=2 download "$1" || { apt-get --quiet=2 update && apt-get --quiet=2 download "$1"; } || return
  mkdir -p "${OLDPWD}/bin" && dpkg --extract "$1"_*.deb "${OLDPWD}/bin/$1"
)
PATH="${PATH}:${PWD}/bin/nginx/usr/sbin:${PWD}/bin/prometheus/usr/bin"
for package in nginx prometheus; do
  if ! command -v "${package}" >/dev/null && command -v apt-get >/dev/null; then
    echo "unpacking Debian's package ${package} into bin/${package}"
    unpack "${package}" || echo "${package} cannot be had: tests that need it are skipped"
  fi
done
# ssh, with which the stand-in for git-sync fetches from private repositories.
if ! command -v ssh >/dev/null && [[ ${EUID} -eq 0 ]] && command -v apt-get >/dev/null; then
  echo "installing Debian's package openssh-client"
  install=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes --no-install-recommends install openssh-client)
  "${install[@]}" || { apt-get --quiet=2 update && "${install[@]}"; } || echo "openssh-client cannot be installed: what takes ssh is skipped"
fi

. hack/gotestsum.sh
unit() { rerun_failed_packages "$@"; }
unit_race() { unit "$@"; }
if command -v "$(go env CC)" >/dev/null; then
  unit_race() { CGO_ENABLED=1 unit "$@" -race; }
else
  echo "no C compiler ($(go env CC)): the unit tests run without the race detector"
fi
status=0
# These mostly wait for git and for processes that start and stop.
unit_race hack/devcluster ./... >"${report}/devcluster.log" 2>&1 &
devcluster=$!
unit_race . ./... || status=1
unit hack/images ./... || status=1
unit hack/scaffold-controller ./... || status=1
# The other packages of this module need a cluster.
unit_race test "./monitoring ./tracecollector/... ./robustness/check/... ./robustness/history/... ./bench/..." || status=1
unit test/clients ./... || status=1
unit test/clients/wait ./chart || status=1
wait "${devcluster}" || status=1
cat "${report}/devcluster.log"

repeated_tests
exit "${status}"
