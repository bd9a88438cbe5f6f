#!/usr/bin/env bash
# Runs every fuzz target for a while, all at once. An input that fails is written to
# testdata/fuzz of its package: commit it with the fix.
#
#   hack/fuzz.sh 10m
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="${PATH}:${XDG_CACHE_HOME:-${HOME}/.cache}/website-apiserver/tools/nginx/usr/sbin"

targets=$(git grep --untracked --only-matching --extended-regexp '^func Fuzz[A-Za-z]+' -- 'pkg/*_test.go')
programs=$(mktemp -d)
trap 'rm -rf "${programs}"' EXIT
cache=$(go env GOCACHE)/fuzz

# Built one after the other, they compile what they share once. Each package is linked once, without debugging
# information; -fuzz has the compiler count what an input covers.
while read -r package; do
  mkdir -p "${programs}/${package}"
  GOGC=400 go test -c -vet=off -fuzz=. -ldflags='-s -w' -o "${programs}/${package}/fuzz.test" "./${package}"
done < <(cut -d: -f1 <<<"${targets}" | xargs --no-run-if-empty dirname | sort -u)
running=()
while IFS=: read -r file target; do
  package=$(dirname "${file}") target=${target#func }
  # As go test does, it runs in the directory of its package, and keeps what it finds in Go's cache. It is interrupted:
  # with -test.fuzztime it may fail at the end with "context deadline exceeded" (go.dev/issue/75804). In the foreground,
  # timeout interrupts it alone, not the git and nginx that it has just started.
  (cd "${package}" && timeout --foreground --signal=INT --preserve-status "$1" "${programs}/${package}/fuzz.test" \
    -test.run='^$' -test.fuzz="^${target}\$" -test.fuzzcachedir="${cache}/$(go list .)" 2>&1 |
    sed -e '/^fuzz: elapsed/d' -e "s|^PASS$|ok ${package} ${target}|") &
  running+=($!)
done <<<"${targets}"
status=0
for pid in "${running[@]}"; do
  wait "${pid}" || status=1
done
exit "${status}"
