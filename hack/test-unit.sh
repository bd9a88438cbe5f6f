#!/usr/bin/env bash
# Runs the unit tests, with the race detector wherever there is a C compiler.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

flags=()
if [[ $(go env CGO_ENABLED) == 1 ]] && command -v "$(go env CC)" >/dev/null; then
  flags+=(-race)
else
  echo "no C compiler ($(go env CC)): the unit tests run without the race detector"
fi
go test "${flags[@]}" ./cmd/... ./docs/... ./hack/... ./pkg/...
