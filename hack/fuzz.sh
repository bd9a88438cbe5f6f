#!/usr/bin/env bash
# Runs every fuzz target for a while, all at once. An input that fails is written to
# testdata/fuzz of its package: commit it with the fix.
#
#   hack/fuzz.sh 10m
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="${PATH}:${XDG_CACHE_HOME:-${HOME}/.cache}/website-apiserver/tools/nginx/usr/sbin"

targets=$(git grep --untracked --only-matching --extended-regexp '^func Fuzz[A-Za-z]+' -- 'pkg/*_test.go')
# Built one after the other, they compile what they share once.
while IFS=: read -r file target; do
  go test -c -fuzz="^${target#func }\$" -o /dev/null "./$(dirname "${file}")"
done <<<"${targets}"
running=()
while IFS=: read -r file target; do
  (go test -run='^$' -fuzz="^${target#func }\$" -fuzztime="$1" "./$(dirname "${file}")" |
    grep --invert-match '^fuzz: elapsed') &
  running+=($!)
done <<<"${targets}"
status=0
for pid in "${running[@]}"; do
  wait "${pid}" || status=1
done
exit "${status}"
