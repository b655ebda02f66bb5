{{/* Names, labels and image references. */}}

{{- define "convoy.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* At most 40 characters: Kubernetes adds a revision and an ordinal to the names of pods. */}}
{{- define "convoy.fullname" -}}
{{- $name := include "convoy.name" . }}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $whole .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "convoy.fleet" -}}
{{- default (include "convoy.fullname" .) .Values.fleet }}
{{- end }}

{{/* Takes a list: the root and the component. */}}
{{- define "convoy.selectorLabels" -}}
{{- $root := index . 0 }}
{{- include "convoy.releaseLabels" $root }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "convoy.releaseLabels" -}}
app.kubernetes.io/name: {{ include "convoy.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Takes a list: the root and the component. */}}
{{- define "convoy.labels" -}}
{{- $root := index . 0 }}
{{- include "convoy.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "convoy.serviceAccountName" -}}
{{- $own := ternary (include "convoy.fullname" .) "default" .Values.serviceAccount.create }}
{{- default $own .Values.serviceAccount.name }}
{{- end }}

{{/* Takes a list: image and default tag. */}}
{{- define "convoy.image" -}}
{{- $image := index . 0 }}
{{- if $image.digest }}
{{- printf "%s@%s" $image.repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $image.repository (default (index . 1) $image.tag) }}
{{- end }}
{{- end }}

{{- define "convoy.accessSecret" -}}
{{- default (printf "%s-access" (include "convoy.fullname" .)) .Values.access.existingSecret }}
{{- end }}

{{- define "convoy.redisSecret" -}}
{{- default (printf "%s-redis" (include "convoy.fullname" .)) .Values.redis.existingSecret }}
{{- end }}
