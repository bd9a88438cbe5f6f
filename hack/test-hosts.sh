#!/usr/bin/env bash
# Runs the integration tests against control planes of the Kubernetes versions that are
# named as arguments, one after the other. They are built first where the cache lacks them.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

logs=_artifacts/hosts
mkdir -p "${logs}"
status=0
results=()
count() { grep --count -- "$1" "${log}" || true; }
for version in "$@"; do
  echo "=== Kubernetes ${version}"
  log="${logs}/${version}.log"
  result=passed
  hack/test-integration.sh -kubernetes-version="${version}" 2>&1 | tee "${log}" || { result=FAILED; status=1; }
  results+=("${version}: ${result}; $(count '^--- PASS') tests passed, $(count '^ *--- SKIP') were skipped, $(count '^ *--- FAIL') failed")
  results+=("$(grep --only-matching 'Kubernetes v[0-9.]* does not serve .*' "${log}" | sort | uniq || true)")
done
echo "=== results, with logs in ${logs}"
printf '%s\n' "${results[@]}"
exit "${status}"
