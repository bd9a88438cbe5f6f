#!/usr/bin/env bash
# Generates everything that is derived from the API types: protobuf, deepcopy,
# defaults, conversions, OpenAPI, clientset, listers, informers, apply
# configurations, JSON Schemas and the reference of the API.
set -o errexit -o nounset -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
MODULE=$(cd "${ROOT}" && go list -m)
BOILERPLATE="${ROOT}/hack/boilerplate.go.txt"

# kube_codegen.sh installs its generators with "go install"; they belong to
# this checkout, not to the user's own GOBIN.
export GOBIN="${CODEGEN_BIN:-${ROOT}/bin/codegen}"
mkdir -p "${GOBIN}"

# The module is fetched first: "go list" prints no folder for one that is absent.
(cd "${ROOT}/hack/tools" && go mod download k8s.io/code-generator)
CODEGEN=$(cd "${ROOT}/hack/tools" && go list -m -f '{{.Dir}}' k8s.io/code-generator)
# shellcheck source=/dev/null
source "${CODEGEN}/kube_codegen.sh"
# The script sets GOBIN from "go env", which an environment variable overrides.
cd "${ROOT}"

"${ROOT}/hack/update-protobuf.sh"

# validation-gen cannot follow types of meta/v1: their custom validations are in
# another package, which it does not look into for packages that it may not
# write. Our types mark what they take from there as opaque instead.
READONLY=("${KUBE_CODEGEN_READONLY_PKGS[@]}")
KUBE_CODEGEN_READONLY_PKGS=(time)
kube::codegen::gen_helpers \
  --boilerplate "${BOILERPLATE}" \
  "${ROOT}/pkg/apis"
KUBE_CODEGEN_READONLY_PKGS=("${READONLY[@]}")

kube::codegen::gen_register \
  --boilerplate "${BOILERPLATE}" \
  "${ROOT}/pkg/apis"

kube::codegen::gen_openapi \
  --output-dir "${ROOT}/pkg/generated/openapi" \
  --output-pkg "${MODULE}/pkg/generated/openapi" \
  --output-model-name-file zz_generated.model_name.go \
  --extra-pkgs k8s.io/api/core/v1 \
  --extra-pkgs k8s.io/api/autoscaling/v1 \
  --report-filename "${ROOT}/hack/openapi-violations.list" \
  --update-report \
  --boilerplate "${BOILERPLATE}" \
  "${ROOT}/pkg/apis"

# The apply configurations carry the OpenAPI schema, so that fields can be
# extracted by manager; it is read from the definitions generated above.
SCHEMA=$(mktemp)
trap 'rm -f "${SCHEMA}"' EXIT
go run "${ROOT}/hack/models-schema" >"${SCHEMA}"

kube::codegen::gen_client \
  --with-watch \
  --with-applyconfig \
  --prefers-protobuf \
  --applyconfig-externals k8s.io/api/core/v1.ResourceRequirements:k8s.io/client-go/applyconfigurations/core/v1,k8s.io/api/core/v1.Toleration:k8s.io/client-go/applyconfigurations/core/v1 \
  --applyconfig-openapi-schema "${SCHEMA}" \
  --output-dir "${ROOT}/pkg/generated" \
  --output-pkg "${MODULE}/pkg/generated" \
  --boilerplate "${BOILERPLATE}" \
  "${ROOT}/pkg/apis"

go run "${ROOT}/hack/json-schema" "${ROOT}/artifacts/schemas"

# The reference is replaced only once it is complete.
REFERENCE=$(mktemp)
trap 'rm -f "${SCHEMA}" "${REFERENCE}"' EXIT
go run "${ROOT}/hack/api-reference" >"${REFERENCE}"
cat "${REFERENCE}" >"${ROOT}/docs/api.md"

"${ROOT}/hack/update-chart.sh"
