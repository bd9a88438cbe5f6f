# For the scripts that run tests; they source it with ROOT set. What has failed runs once more,
# which tells a failure from a busy machine. A test that passes then is still a fault, of the
# test or of what it tests, and is named by repeated_tests.

# Set by git for hooks and for "git rebase --exec": the repositories that tests make would be this one.
# shellcheck disable=SC2046 # They are words.
unset $(git rev-parse --local-env-vars)

(cd "${ROOT}/hack/tools" && go build -o "${ROOT}/bin/gotestsum" gotest.tools/gotestsum)
report=$(mktemp -d)
trap 'rm -rf "${report}"' EXIT

# gotestsum FORMAT MODULE PACKAGES [FLAG...] tests the packages of a module, given in one word.
gotestsum() {
  local format=$1 module=$2 packages=$3
  shift 3
  (cd "${module}" && "${ROOT}/bin/gotestsum" --no-color --format="${format}" --packages="${packages}" "$@")
}

# rerun_failed_tests MODULE PACKAGES [FLAG...] runs tests, and those that failed once more, but
# nothing if more than eight did.
rerun_failed_tests() {
  local module=$1 packages=$2
  shift 2
  gotestsum standard-verbose "${module}" "${packages}" \
    --rerun-fails=1 --rerun-fails-max-failures=8 --rerun-fails-run-root-test \
    --rerun-fails-report="$(mktemp "${report}/repeated.XXXXXX")" -- "$@"
}

# rerun_failed_packages MODULE PACKAGES [FLAG...] runs tests, and then all tests of the packages
# that failed: of the others go test has the results. So it also runs what a process that crashed,
# which can be the fault of the race detector, did not come to.
rerun_failed_packages() {
  local events
  events=$(mktemp "${report}/events.XXXXXX")
  gotestsum standard-quiet "$1" "$2" --jsonfile-timing-events="${events}" -- "${@:3}" && return
  grep '"Action":"fail"' "${events}" | grep --only-matching '"Package":.*' >"$(mktemp "${report}/repeated.XXXXXX")"
  echo "=== packages that failed run again"
  gotestsum standard-quiet "$1" "$2" -- "${@:3}"
}

repeated_tests() {
  local repeated
  if repeated=$(grep --no-filename . "${report}"/repeated.*); then
    echo "=== tests that failed, and ran again"
    echo "${repeated}"
  fi
}
