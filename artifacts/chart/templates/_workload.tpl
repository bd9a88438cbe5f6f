{{- /* Changes the pods of an object, and its volumes. It prints nothing. */ -}}
{{- define "website.workload" }}
{{- $o := .object }}
{{- $root := .root }}
{{- $v := .root.Values }}
{{- $name := $o.metadata.name }}
{{- $values := default dict (index (dict "website-apiserver" $v.apiserver "website-controller" $v.controller "website-etcd" $v.etcd
  "website-etcd-certificates" $v.etcdCertificates "website-store-snapshot" $v.snapshots
  "website-uninstall" (omit $v.apiserver "extraArgs" "env" "resources")) $name) }}
{{- $template := $o.spec.template }}
{{- if eq $o.kind "CronJob" }}{{ $template = $o.spec.jobTemplate.spec.template }}{{ end }}
{{- $pod := $template.spec }}
{{- $container := first $pod.containers }}
{{- $image := ternary $v.images.controller (ternary $v.images.etcd $v.images.apiserver (eq $name "website-etcd")) (eq $name "website-controller") }}
{{- $_ := set $container "image" (include "website.image" (dict "image" $container.image "values" $image)) }}
{{- with $values.resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- with $values.extraArgs }}{{ $_ := set $container "args" (concat $container.args .) }}{{ end }}
{{- with $values.podLabels }}{{ $_ := set $template.metadata "labels" (merge $template.metadata.labels .) }}{{ end }}
{{- with $values.podAnnotations }}{{ $_ := set $template.metadata "annotations" (mergeOverwrite (default dict $template.metadata.annotations) .) }}{{ end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- with index $values $field }}{{ $_ := set $pod $field . }}{{ end }}
{{- end }}
{{- if $v.openshift }}
{{- range $id := list "runAsUser" "runAsGroup" "fsGroup" "fsGroupChangePolicy" }}{{ $_ := unset $pod.securityContext $id }}{{ end }}
{{- if eq $name "website-controller" }}{{ $_ := set $container "args" (append $container.args "--platform-assigns-user-ids") }}{{ end }}
{{- end }}
{{- if eq $name "website-apiserver" }}
{{- $args := list }}
{{- range $container.args }}
{{- $args = append $args (ternary (print "--host-authorization=" $v.hostAuthorization) . (hasPrefix "--host-authorization=" .)) }}
{{- end }}
{{- $_ := set $container "args" $args }}
{{- range $component, $enabled := dict "cert-manager" $v.certManager "snapshots" (and $v.snapshots.enabled (not $v.ha)) "static-registration" $v.staticRegistration }}
{{- if $enabled }}
{{- range fromYamlArray ($root.Files.Get (printf "files/components/%s/flags.yaml" $component)) }}
{{- $_ := set $container "args" (append $container.args .value) }}
{{- end }}
{{- with $root.Files.Get (printf "files/components/%s/volume.yaml" $component) }}
{{- $patch := (fromYaml .).spec.template.spec }}
{{- $_ := set $container "volumeMounts" (concat (first $patch.containers).volumeMounts $container.volumeMounts) }}
{{- $_ := set $pod "volumes" (concat $patch.volumes (default list $pod.volumes)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $variables := dict "ETCD_SERVERS" (join "," $v.etcd.servers) "GOMEMLIMIT" $values.goMemoryLimit }}
{{- $images := dict "AGENT_IMAGE" $v.images.agent "GIT_SYNC_IMAGE" $v.images.gitSync "NGINX_IMAGE" $v.images.nginx }}
{{- range $env := $container.env }}
{{- with index $variables $env.name }}{{ $_ := set $env "value" . }}{{ end }}
{{- with index $images $env.name }}{{ $_ := set $env "value" (include "website.image" (dict "image" $env.value "values" .)) }}{{ end }}
{{- end }}
{{- with $values.env }}{{ $_ := set $container "env" (concat (default list $container.env) .) }}{{ end }}
{{- range $pod.volumes }}
{{- if eq .name "etcd-client" }}{{ $_ := set .secret "secretName" $v.etcd.secretName }}{{ end }}
{{- end }}
{{- if $o.spec.volumeClaimTemplates }}
{{- range $claim := $o.spec.volumeClaimTemplates }}
{{- $_ := set $claim.spec.resources.requests "storage" $v.storage.size }}
{{- with $v.storage.storageClassName }}{{ $_ := set $claim.spec "storageClassName" . }}{{ end }}
{{- end }}
{{- range (default dict (lookup "apps/v1" "StatefulSet" $o.metadata.namespace $name).spec).volumeClaimTemplates }}
{{- $size := .spec.resources.requests.storage }}
{{- if ne (include "website.mebibytes" $size) (include "website.mebibytes" $v.storage.size) }}
{{- fail (printf "storage.size is %s, and the claims of StatefulSet %s are made with %s, which is immutable: enlarge the claims, delete the StatefulSet with --cascade=orphan, and upgrade again, see docs/storage.md" $v.storage.size $name $size) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* An image of the manifests, with the values for it. */ -}}
{{- define "website.image" }}
{{- $digest := regexFind "@.*$" .image }}
{{- $tag := regexFind ":[^:/]*$" (trimSuffix $digest .image) }}
{{- $repository := .values.repository | default (trimSuffix (print $tag $digest) .image) }}
{{- if or .values.tag .values.digest }}
{{- $tag = "" }}
{{- $digest = "" }}
{{- with .values.tag }}{{ $tag = print ":" . }}{{ end }}
{{- with .values.digest }}{{ $digest = print "@" . }}{{ end }}
{{- end }}
{{- print $repository $tag $digest }}
{{- end }}

{{- /* A size in MiB; kube-apiserver writes 8192Mi as 8Gi. */ -}}
{{- define "website.mebibytes" }}
{{- if hasSuffix "Mi" . }}{{ trimSuffix "Mi" . }}
{{- else if hasSuffix "Gi" . }}{{ mul 1024 (trimSuffix "Gi" . | int64) }}
{{- else if hasSuffix "Ti" . }}{{ mul 1048576 (trimSuffix "Ti" . | int64) }}
{{- else }}{{ . }}
{{- end }}
{{- end }}
