{{- /* An object of the manifests, with the values in it. */ -}}
{{- define "website.object" }}
{{- $o := .object }}
{{- $v := .root.Values }}
{{- if and $v.ha (eq $o.kind "Deployment") (eq $o.metadata.name "website-controller") }}
{{- $o = mergeOverwrite $o (fromYaml (.root.Files.Get "files/ha/controller.yaml")) }}
{{- end }}
{{- if and (eq $o.kind "ServiceAccount") $v.imagePullSecrets }}
{{- $secrets := list }}
{{- range $v.imagePullSecrets }}{{ $secrets = append $secrets (dict "name" .) }}{{ end }}
{{- $_ := set $o "imagePullSecrets" $secrets }}
{{- end }}
{{- if and $v.staticRegistration (eq $o.kind "ClusterRole") (eq $o.metadata.name "website-apiserver-registration") }}
{{- /* As components/static-registration/permissions.yaml does: the first rule permits to create. */}}
{{- $_ := set $o "rules" (rest $o.rules) }}
{{- end }}
{{- if has $o.kind (list "Deployment" "StatefulSet" "CronJob" "Job") }}
{{- include "website.workload" (dict "root" .root "object" $o) }}
{{- end }}
{{- if eq $o.kind "PersistentVolumeClaim" }}
{{- $_ := set $o.spec.resources.requests "storage" $v.snapshots.size }}
{{- with $v.snapshots.storageClassName }}{{ $_ := set $o.spec "storageClassName" . }}{{ end }}
{{- end }}
{{- if has $o.kind (list "ServiceMonitor" "PodMonitor" "PrometheusRule") }}
{{- $_ := set $o.metadata "labels" (mergeOverwrite $o.metadata.labels $v.monitorLabels) }}
{{- end }}
{{- include "website.metadata" (dict "root" .root "metadata" $o.metadata) }}
{{- toYaml $o }}
{{- end }}

{{- /* The labels of the chart, and those that all objects are given. */ -}}
{{- define "website.metadata" }}
{{- $chart := .root.Chart }}
{{- $labels := dict "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/version" $chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" $chart.Name $chart.Version) }}
{{- $_ := set .metadata "labels" (merge (default dict .metadata.labels) $labels .root.Values.commonLabels) }}
{{- with .root.Values.commonAnnotations }}{{ $_ := set $.metadata "annotations" (merge (default dict $.metadata.annotations) .) }}{{ end }}
{{- end }}

{{- /* A ConfigMap with a file of the component monitoring. */ -}}
{{- define "website.file" }}
{{- $data := dict .file (.root.Files.Get (printf "files/components/monitoring/%s" .file)) }}
{{- $labels := dict "app.kubernetes.io/name" "website-apiserver" "app.kubernetes.io/part-of" "website" }}
{{- $meta := dict "name" .name "namespace" "website-system" "labels" (merge $labels .labels) }}
{{- include "website.metadata" (dict "root" .root "metadata" $meta) }}
{{- toYaml (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $meta "data" $data) }}
{{- end }}
