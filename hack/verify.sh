#!/usr/bin/env bash
# Proves what a reviewer should not have to check by eye. Every check runs, so
# that one run shows everything there is to mend.
set -o nounset -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "${ROOT}" || exit 1
failed=()
skipped=()

# What a check returns that lacks what it needs, which it has printed.
SKIPPED=100

# Of what compiles and analyzes: see goEnv in hack/devcluster/toolchain.go.
COMPILER_GOGC=400

# The modules that hold code of this repository. Those beside hack/devcluster only name
# the versions of programs that are built; hack/kubernetes, hack/coredns and hack/cert-manager also their commands.
MODULES=(. hack/devcluster hack/images hack/scaffold-controller hack/tools test test/clients test/clients/wait)

check() {
  local name=$1 start=${SECONDS}
  shift
  echo "=== ${name}"
  "$@"
  case $? in
    0) echo "    ok (${name}, $((SECONDS - start)) s)" ;;
    "${SKIPPED}") skipped+=("${name}") ;;
    *)
      echo "    FAILED (${name})"
      failed+=("${name}")
      ;;
  esac
}

# Runs a command in each module.
in_modules() {
  local module status=0
  for module in "${MODULES[@]}"; do
    (cd "${module}" && "$@") || status=1
  done
  return ${status}
}

# Lists the files of the checkout, without those that were removed and are still in the index.
files() {
  git ls-files -co --exclude-standard -- "$@" | while IFS= read -r file; do [[ ! -e ${file} ]] || printf '%s\n' "${file}"; done
}

formatted() {
  local files
  files=$(files '*.go' | xargs gofmt -l) || return 1
  if [[ -n "${files}" ]]; then
    echo "gofmt would change these files; run \"gofmt -w\" on them:"
    echo "${files}"
    return 1
  fi
}

# Of Go that is not generated. Tags, and comments that are read by programs, are one line.
long_lines() {
  local found
  found=$(files '*.go' | grep --extended-regexp --invert-match '^pkg/generated/|/zz_generated|\.pb\.go$' |
    LC_ALL=C.UTF-8 xargs grep --line-number --extended-regexp '^.{121,}$' |
    grep --extended-regexp --invert-match '`json:"|:(// \+|//go:)')
  if [[ -n "${found}" ]]; then
    echo "these lines are longer:"
    echo "${found}"
    return 1
  fi
}

tidy() {
  local module status=0
  while read -r module; do
    if ! (cd "$(dirname "${module}")" && go mod tidy -diff); then
      echo "${module} is not tidy: run \"go mod tidy\" in its directory"
      status=1
    fi
  done < <(files go.mod '*/go.mod')
  return ${status}
}

# Tests link what users run, and each package is compiled once: what several modules require, they require in
# the same version, and so do Kubernetes, kwok, the tools and k8s.io/sample-apiserver.
same_versions() {
  awk '$1 == "require" { $0 = substr($0, 9) }
    $2 ~ /^v[0-9]/ {
      if ($1 in version && version[$1] != $2) { print FILENAME " requires " $1 " " $2 ", another module " version[$1]; differ = 1 }
      version[$1] = $2
    }
    END { exit differ }' "${MODULES[@]/%//go.mod}" hack/{kubernetes,kwok,sample-apiserver}/go.mod
}

# Names all that generation reads and writes.
generated_key() {
  { go version && files pkg/apis pkg/generated 'hack/*.sh' 'hack/*.txt' 'hack/*.list' hack/tools hack/models-schema hack/json-schema hack/api-reference \
    pkg/apiserver/{openapi,scheme}.go go.mod go.sum docs/api.md artifacts/schemas artifacts/examples | LC_ALL=C sort | xargs sha256sum; } | sha256sum | cut -c1-16
}

# Generates into a copy, so that a check never changes what it checks. As go test does, it takes the result for the
# same files from the cache.
generated() (
  status=0
  key=$(generated_key) && passed="${XDG_CACHE_HOME:-${HOME}/.cache}/website-apiserver/generated/${key}" || return 1
  if [[ -e ${passed} ]]; then
    echo "    cached: generation of the same files passed before (${passed})"
    return 0
  fi
  copy=$(mktemp -d) || return 1
  trap 'rm -rf "${copy}" "${copy}.log"' EXIT
  files | tar --verbatim-files-from --files-from=- --create --file=- | tar --extract --file=- --directory="${copy}" || return 1
  if GOGC=${COMPILER_GOGC} CODEGEN_BIN="${ROOT}/bin/codegen" "${copy}/hack/update-codegen.sh" >"${copy}.log" 2>&1; then
    for path in pkg hack docs artifacts/schemas; do
      diff --recursive --brief --exclude=.gitignore "${path}" "${copy}/${path}" || status=1
    done
    [[ ${status} -eq 0 ]] || echo "generated files are stale: run \"make generate\" and commit the result"
  else
    cat "${copy}.log"
    status=1
  fi
  [[ ${status} -ne 0 ]] || { mkdir -p "$(dirname "${passed}")" && touch "${passed}"; }
  return ${status}
)

# The chart has copies of the manifests: an archive of it has no links.
chart() {
  local copy status=0
  copy=$(mktemp -d) || return 1
  hack/update-chart.sh "${copy}/files" && diff --recursive --brief "${copy}/files" artifacts/chart/files || status=1
  rm -rf "${copy}"
  [[ ${status} -eq 0 ]] || echo "the chart's copies of the manifests are stale: run hack/update-chart.sh and commit the result"
  return ${status}
}

examples() {
  local validate=(bin/kubeconform -strict -summary -skip HorizontalPodAutoscaler,RoleBinding,Secret,ServiceAccount
    -schema-location 'artifacts/schemas/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json')
  (cd hack/tools && go build -o "${ROOT}/bin/kubeconform" github.com/yannh/kubeconform/cmd/kubeconform) || return 1
  "${validate[@]}" artifacts/examples/*.yaml || return 1
  # Schemas that accept everything would pass this far.
  if sed 's/periodSeconds/periodSecond/' artifacts/examples/site.yaml | "${validate[@]}"; then
    echo "the JSON Schema accepts a misspelled field"
    return 1
  fi
}

# The vet tool has the checks of go vet as well. Go keeps the results of unchanged packages.
lint() {
  (cd hack/tools && go build -o "${ROOT}/bin/lint" ./lint) || return 1
  in_modules env GOGC="${COMPILER_GOGC}" go vet -vettool="${ROOT}/bin/lint" ./...
}

comments() {
  hack/go-build.sh bin/prose . ./hack/prose && bin/prose
}

# The database is no Go module: a network may have the module proxy and not this.
vulnerabilities() {
  (cd hack/tools && go build -o "${ROOT}/bin/govulncheck" golang.org/x/vuln/cmd/govulncheck) || return 1
  if ! timeout 20 bin/govulncheck -version | grep --quiet '^DB updated:'; then
    echo "    SKIPPED: no dependency was checked for known vulnerabilities: https://vuln.go.dev is unreachable"
    return "${SKIPPED}"
  fi
  bin/govulncheck ./cmd/...
}

# register-gen marks names as deprecated that client-gen's code still uses, as
# everybody who registers a type has to; and generated code is not ours to mend. What is in the
# cache of staticcheck names the files of the checkout from which it comes.
STATICCHECK_EXCEPTIONS='(^|/)pkg/generated/|/v1[a-z0-9]*\.(SchemeGroupVersion|AddToScheme) is deprecated'

staticcheck() {
  (cd hack/tools && go build -o "${ROOT}/bin/staticcheck" honnef.co/go/tools/cmd/staticcheck) || return 1
  in_modules staticcheck_module
}

# With package comments, which are no default.
staticcheck_module() {
  local findings status=0
  findings=$(GOGC=${COMPILER_GOGC} "${ROOT}/bin/staticcheck" -checks=inherit,ST1000 ./...) || status=$?
  # 1 means findings; anything else that it could not do its work.
  if [[ ${status} -gt 1 ]]; then
    echo "${findings}"
    return 1
  fi
  ! grep --extended-regexp --invert-match "${STATICCHECK_EXCEPTIONS}" <<<"${findings}" | grep .
}

unit_tests() {
  hack/go-build.sh bin/suites . ./hack/suites && bin/suites --suite=unit,unit-devcluster
}

shell_syntax() {
  local script status=0
  while read -r script; do
    bash -n "${script}" || status=1
  done < <(files '*.sh' .ci/run)
  return ${status}
}

check "formatting" formatted
check "lines have at most 120 columns" long_lines
check "shell scripts parse" shell_syntax
check "modules are tidy" tidy
check "modules agree on versions" same_versions
check "generated code is current" generated
check "the chart has the manifests" chart
check "examples match the JSON Schemas" examples
check "go vet, dupword and unparam" lint
check "comments name their nouns" comments
check "staticcheck" staticcheck
check "known vulnerabilities" vulnerabilities
check "unit tests" unit_tests
check "fuzz targets" hack/fuzz.sh "${FUZZ_TIME:-10s}"

if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'verify: FAILED: %s\n' "${failed[@]}"
  exit 1
fi
for name in ${skipped[@]+"${skipped[@]}"}; do
  echo "verify: skipped: ${name}"
done
echo "verify: everything holds"
