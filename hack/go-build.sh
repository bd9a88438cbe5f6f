#!/bin/sh
# Builds a program and reports what Go does meanwhile, because the first build downloads
# and compiles for minutes. On a terminal the report is one line, updated in place.
#
#   hack/go-build.sh OUT MODULE PACKAGE [FLAGS OF GO BUILD...]
#
# OUT and MODULE are relative to the working directory, PACKAGE is relative to MODULE.
# The environment variable GO names the go command.
set -u
out=$1 module=$2 package=$3
shift 3
log=$(mktemp) || exit 1

report() {
  seconds=0
  while sleep 1 >/dev/null 2>&1; do
    seconds=$((seconds + 1))
    modules=$(grep -c '^go: downloading ' "$log")
    packages=$(grep -vc '[[:space:]]' "$log") # "go build -v" prints their import paths
    doing="checking for changes"
    [ "$modules" -eq 0 ] || doing="downloading Go modules, $modules so far"
    [ "$packages" -eq 0 ] || doing="compiling packages, $packages so far"
    line="building $out: $doing ($seconds s)"
    if [ -t 1 ]; then
      printf '\r%s\033[K' "$line"
    elif [ $((seconds % 5)) -eq 1 ]; then
      echo "$line"
    fi
  done
}
report &
reporter=$!
trap 'kill "$reporter" 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

begin=$(date +%s)
top=$(pwd)
# GOGC: see goEnv in hack/devcluster/toolchain.go.
(cd "$module" && CGO_ENABLED=0 GOGC=400 "${GO:-go}" build -v -trimpath -buildvcs=false "$@" -o "$top/$out" "$package") 2>"$log"
status=$?
kill "$reporter"
wait "$reporter" 2>/dev/null
[ ! -t 1 ] || printf '\r\033[K'
if [ "$status" -ne 0 ]; then
  echo "building $out failed:" >&2
  grep -v '^go: downloading ' "$log" | grep '[[:space:]]' >&2
elif [ -s "$log" ]; then
  echo "built $out ($(($(date +%s) - begin)) s)"
fi
exit "$status"
