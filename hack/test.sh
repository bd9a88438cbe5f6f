#!/usr/bin/env bash
# Runs every test: unit tests, then the integration tests against a real
# kube-apiserver and etcd, then the end-to-end tests on a real node. Programs and
# images are built first where the cache lacks them.
set -o errexit -o nounset -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "${ROOT}"

# "make test-external-etcd" runs all the others that way, too.
STORE_TESTS=(
  TestEtcdVersion TestStorage TestContentTypes TestEncryptionAtRest TestRemovedKey TestMigrateStorage
  TestKilledAPIServerKeepsAllData TestGracefulShutdown TestUndecodableWebsite
  TestPaging TestSelectors TestResourceVersions TestConsistentReadsComeFromTheCache
  TestBookmarks TestStreamingList TestControllerStreamsItsLists TestWatchFromAResourceVersion TestWatchOfASelection
)
for name in "${STORE_TESTS[@]}"; do
  grep --quiet "^func ${name}(" test/integration/*/*_test.go || { echo "no integration test is called ${name}" >&2; exit 1; }
done

. hack/gotestsum.sh
# Runs packages, each against a cluster of its own.
run() { rerun_failed_tests "$1" "$2" -count=1 "${@:3}"; }

echo "=== unit tests"
hack/test-unit.sh
status=0
# Each package has a cluster of its own: two run at once, as each waits half of the time.
echo "=== integration tests, fault tests and tests of robustness"
run test "./faults/... ./integration/... ./robustness" -timeout=40m -p=2 || status=1
# Without a browser, and certutil, which has it trust a CA, the tests that render pages are skipped.
if [[ ${EUID} -eq 0 ]] && command -v apt-get >/dev/null && ! { command -v chromium && command -v certutil; } >/dev/null; then
  echo "installing Debian's packages chromium and libnss3-tools, to render pages"
  install=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes --no-install-recommends install chromium libnss3-tools)
  "${install[@]}" || { apt-get --quiet=2 update && "${install[@]}"; } || echo "they cannot be installed"
fi
# These are the only tests that run twice: what depends on the store, with Websites in an
# etcd of their own, which is older than the one inside website-apiserver, and over mutual TLS.
(
  failed=0
  run test ./integration/... -timeout=40m -p=2 -run="^($(IFS="|"; echo "${STORE_TESTS[*]}"))\$" -args -external-etcd || failed=1
  run test/clients/wait ./... -timeout=20m -p=1 || failed=1
  # It compiles the previous release, of which the tests of the installation make images later.
  run test ./upgrade -timeout=40m || failed=1
  run test ./store/... -timeout=40m -parallel=4 || failed=1
  exit "${failed}"
) >"${report}/others.log" 2>&1 &
others=$!
# They wait for pods and fetches. More of them at once starve the pods, whose fetches then take
# longer than any deadline, and do not end sooner.
echo "=== end-to-end tests, tests of the store, of clients that wait, and of an upgrade"
run test ./e2e/... -timeout=40m -parallel=4 || status=1
# A second real node beside that of the end-to-end tests would starve the pods.
echo "=== tests of the installation"
run test ./install -timeout=40m || status=1
wait "${others}" || status=1
cat "${report}/others.log"

repeated_tests
exit "${status}"
