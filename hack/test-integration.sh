#!/usr/bin/env bash
# Runs the integration tests against a real kube-apiserver and etcd, which are
# built first where the cache lacks them. Arguments go to the tests.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../test"

# Each package starts a cluster of its own, unless all share one by -cluster.
packages_at_once=2
[[ " $*" != *" -cluster="* && " $*" != *" --cluster="* ]] || packages_at_once=1

# Results are not cached: what they test is other programs.
go test -count=1 -timeout=40m -p="${packages_at_once}" -v ./integration/... -args "$@"
