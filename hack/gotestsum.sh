# For the scripts that run tests; they source it with ROOT set. gotestsum runs a test that has
# failed once more, which tells a failure from a busy machine. One that passes then is still a
# fault, of the test or of what it tests, and is named by repeated_tests.

# Set by git for hooks and for "git rebase --exec": the repositories that tests make would be this one.
# shellcheck disable=SC2046 # They are words.
unset $(git rev-parse --local-env-vars)

(cd "${ROOT}/hack/tools" && go build -o "${ROOT}/bin/gotestsum" gotest.tools/gotestsum)
report=$(mktemp -d)
trap 'rm -rf "${report}"' EXIT

# gotestsum FORMAT MAX_FAILURES MODULE PACKAGES [FLAG...] tests the packages of a module, given in
# one word. With more failures nothing runs again.
gotestsum() {
  local format=$1 most=$2 module=$3 packages=$4
  shift 4
  (cd "${module}" && "${ROOT}/bin/gotestsum" --no-color --format="${format}" --packages="${packages}" \
    --rerun-fails=1 --rerun-fails-max-failures="${most}" --rerun-fails-run-root-test \
    --rerun-fails-report="$(mktemp "${report}/repeated.XXXXXX")" -- "$@")
}

repeated_tests() {
  local repeated
  if repeated=$(grep --no-filename . "${report}"/repeated.*); then
    echo "=== tests that failed, and ran again"
    echo "${repeated}"
  fi
}
