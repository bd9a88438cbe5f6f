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
{{- if has $o.kind (list "Deployment" "StatefulSet") }}
{{- $part := trimPrefix "website-" $o.metadata.name }}
{{- $values := default dict (index $v $part) }}
{{- $container := first $o.spec.template.spec.containers }}
{{- with index $v.images ($part | replace "etcd-certificates" "apiserver") }}{{ $_ := set $container "image" . }}{{ end }}
{{- with $values.resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- with $values.extraArgs }}{{ $_ := set $container "args" (concat $container.args .) }}{{ end }}
{{- if and $v.certManager (eq $o.metadata.name "website-apiserver") }}
{{- range fromYamlArray (.root.Files.Get "files/components/cert-manager/flags.yaml") }}
{{- $_ := set $container "args" (append $container.args .value) }}
{{- end }}
{{- $patch := (fromYaml (.root.Files.Get "files/components/cert-manager/volume.yaml")).spec.template.spec }}
{{- $_ := set $container "volumeMounts" (concat (first $patch.containers).volumeMounts $container.volumeMounts) }}
{{- $_ := set $o.spec.template.spec "volumes" (concat $patch.volumes (default list $o.spec.template.spec.volumes)) }}
{{- end }}
{{- $variables := dict "AGENT_IMAGE" $v.images.agent "GIT_SYNC_IMAGE" $v.images.gitSync "NGINX_IMAGE" $v.images.nginx
  "ETCD_SERVERS" (join "," $v.etcd.servers) "GOMEMLIMIT" $values.goMemoryLimit }}
{{- range $container.env }}
{{- $env := . }}
{{- with index $variables .name }}{{ $_ := set $env "value" . }}{{ end }}
{{- end }}
{{- range $o.spec.template.spec.volumes }}
{{- if eq .name "etcd-client" }}{{ $_ := set .secret "secretName" $v.etcd.secretName }}{{ end }}
{{- end }}
{{- range $claim := $o.spec.volumeClaimTemplates }}
{{- $_ := set $claim.spec.resources.requests "storage" $v.storage.size }}
{{- with $v.storage.storageClassName }}{{ $_ := set $claim.spec "storageClassName" . }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $o }}
{{- end }}

{{- /* A ConfigMap with a file of the component monitoring. */ -}}
{{- define "website.file" }}
{{- $data := dict .file (.root.Files.Get (printf "files/components/monitoring/%s" .file)) }}
{{- $meta := dict "name" .name "namespace" "website-system" }}
{{- with .labels }}{{ $_ := set $meta "labels" . }}{{ end }}
{{- toYaml (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $meta "data" $data) }}
{{- end }}
