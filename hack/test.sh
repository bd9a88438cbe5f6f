#!/usr/bin/env bash
# Runs every test: unit tests, then the integration tests against a real
# kube-apiserver and etcd, which are built first where the cache lacks them.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "=== unit tests"
hack/test-unit.sh
echo "=== integration tests"
# Results are not cached: what they test is other programs.
go test -count=1 -timeout=40m -v ./test/integration/...
