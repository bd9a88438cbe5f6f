#!/usr/bin/env bash
# Copies the manifests that the Helm chart has into a directory, by default that of the chart: what packs a chart, such
# as Flux, does not follow links. "make verify" compares the copies.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
to=${1:-artifacts/chart/files}

rm -rf "${to}"
for directory in base default ha rbac components/{argo-cd,cert-manager,default-deny,monitoring,network-policies,snapshots,snapshots-etcd,static-registration}; do
  mkdir -p "${to}/${directory}"
  for file in artifacts/"${directory}"/*; do
    case ${file##*/} in
      # Only for kustomize, and for single namespaces.
      kustomization.yaml | namespace.yaml | controller-one-namespace.yaml) ;;
      *) cp "${file}" "${to}/${directory}/" ;;
    esac
  done
done
