#!/usr/bin/env bash
# Runs the integration tests against a real kube-apiserver and etcd, which are
# built first where the cache lacks them. Arguments go to the tests.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../test"

# Results are not cached: what they test is other programs.
go test -count=1 -timeout=40m -v ./integration/... -args "$@"
