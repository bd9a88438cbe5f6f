#!/usr/bin/env bash
# Runs every test: unit tests, then the integration tests against a real
# kube-apiserver and etcd, which are built first where the cache lacks them.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# "make test-external-etcd" runs all the others that way, too.
STORE_TESTS='^(TestKilledAPIServerKeepsAllData|TestStorage|TestContentTypes|TestMigrateStorage|TestEncryptionAtRest|TestRemovedKey|TestGracefulShutdown)$'

echo "=== unit tests"
hack/test-unit.sh
echo "=== integration tests"
hack/test-integration.sh
# What depends on the store again, with Websites in an etcd of their own: older
# than the one inside website-apiserver, and over mutual TLS.
echo "=== integration tests of the store, with an external etcd"
hack/test-integration.sh -external-etcd -test.run="${STORE_TESTS}"
