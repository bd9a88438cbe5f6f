#!/usr/bin/env bash
# Runs every test: unit tests, then the integration tests against a real
# kube-apiserver and etcd, then the end-to-end tests on a real node. Programs and
# images are built first where the cache lacks them.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# "make test-external-etcd" runs all the others that way, too.
STORE_TESTS=(
  TestEtcdVersion TestStorage TestContentTypes TestEncryptionAtRest TestRemovedKey TestMigrateStorage
  TestKilledAPIServerKeepsAllData TestGracefulShutdown
  TestPaging TestSelectors TestResourceVersions TestConsistentReadsComeFromTheCache
  TestBookmarks TestStreamingList TestControllerStreamsItsLists TestWatchFromAResourceVersion TestWatchOfASelection
)
for name in "${STORE_TESTS[@]}"; do
  grep --quiet "^func ${name}(" test/integration/*_test.go || { echo "no integration test is called ${name}" >&2; exit 1; }
done

echo "=== unit tests"
hack/test-unit.sh
echo "=== integration tests"
hack/test-integration.sh
echo "=== fault tests"
(cd test && go test -count=1 -timeout=20m -v ./faults/...)
# What depends on the store again, with Websites in an etcd of their own: older
# than the one inside website-apiserver, and over mutual TLS.
echo "=== integration tests of the store, with an external etcd"
hack/test-integration.sh -external-etcd -test.run="^($(IFS="|"; echo "${STORE_TESTS[*]}"))\$"
echo "=== end-to-end tests, and tests of a replaced store"
# Without a browser, the one test that looks at pages is skipped.
if [[ ${EUID} -eq 0 ]] && command -v apt-get >/dev/null && ! command -v chromium >/dev/null; then
  echo "installing Debian's package chromium, to look at pages with"
  install=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes --no-install-recommends install chromium)
  "${install[@]}" || { apt-get --quiet=2 update && "${install[@]}"; } || echo "chromium cannot be installed"
fi
# They wait for pods and fetches more than they compute, and the tests of a replaced
# store for the garbage collector to delete nothing: both run at once.
(cd test && go test -count=1 -timeout=40m -parallel=8 -p=2 -v ./e2e/... ./store/...)
