#!/usr/bin/env bash
# Generates the protobuf encoding of the API types: generated.proto, its Go code
# and the protobuf tags in types.go. Needs protoc (Debian: protobuf-compiler),
# which is installed where that is possible.
set -o errexit -o nounset -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
MODULE=$(cd "${ROOT}" && go list -m)
BIN="${CODEGEN_BIN:-${ROOT}/bin/codegen}"
PACKAGES=(
  "${MODULE}/pkg/apis/website/v1alpha1"
  "${MODULE}/pkg/apis/website/v1beta1"
)
# Messages of ours contain messages of these; their own code is not generated.
APIMACHINERY=(
  -k8s.io/apimachinery/pkg/util/intstr
  -k8s.io/apimachinery/pkg/api/resource
  -k8s.io/apimachinery/pkg/runtime/schema
  -k8s.io/apimachinery/pkg/runtime
  -k8s.io/apimachinery/pkg/apis/meta/v1
  -k8s.io/api/core/v1
)

if ! command -v protoc >/dev/null; then
  if [[ ${EUID} -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "protoc is missing: install the protobuf compiler (Debian: apt-get install protobuf-compiler)" >&2
    exit 1
  fi
  echo "installing protobuf-compiler"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends protobuf-compiler >/dev/null
fi

mkdir -p "${BIN}"
(cd "${ROOT}/hack/tools" && go build -o "${BIN}/" \
  k8s.io/code-generator/cmd/go-to-protobuf \
  k8s.io/code-generator/cmd/go-to-protobuf/protoc-gen-gogo \
  golang.org/x/tools/cmd/goimports)

# protoc finds a Go package's .proto by import path, so it is given a folder
# laid out by import path that leads to the real ones.
TREE=$(mktemp -d)
trap 'rm -rf "${TREE}"' EXIT
link() {
  mkdir -p "${TREE}/$(dirname "$1")"
  ln -s "$2" "${TREE}/$1"
}
cd "${ROOT}"
link "${MODULE}" "${ROOT}"
link k8s.io/apimachinery "$(go list -m -f '{{.Dir}}' k8s.io/apimachinery)"
link k8s.io/api "$(go list -m -f '{{.Dir}}' k8s.io/api)"
# The options that the intermediate .proto uses, and protobuf's own descriptor.
GOGO=$(cd hack/tools && go list -m -f '{{.Dir}}' github.com/gogo/protobuf)
link github.com/gogo/protobuf "${GOGO}"

join() {
  local IFS=,
  echo "$*"
}
PATH="${BIN}:${PATH}" go-to-protobuf \
  --go-header-file "${ROOT}/hack/boilerplate.go.txt" \
  --apimachinery-packages "$(join "${APIMACHINERY[@]}")" \
  --packages "$(join "${PACKAGES[@]}")" \
  --proto-import "${GOGO}/protobuf" \
  --output-dir "${TREE}"
