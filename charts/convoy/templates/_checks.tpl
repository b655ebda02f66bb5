{{/* What values must agree about beyond their schema. */}}
{{- define "convoy.check" -}}
{{- $access := .Values.access }}
{{- $redis := .Values.redis }}
{{- if not .Values.shards }}
{{- fail "shards: name the source's shards, as listShards shows them." }}
{{- end }}
{{- if $access.existingSecret }}
{{- if or $access.cluster0 $access.cluster1 $access.token $access.viewToken $access.shardCredentials $access.fleetSecret $access.notify }}
{{- fail "access: existingSecret stands instead of all other values; remove these." }}
{{- end }}
{{- else if not (and $access.cluster0 $access.cluster1 $access.token) }}
{{- fail "access: name an existingSecret, or give cluster0, cluster1 and token." }}
{{- end }}
{{- if $redis.install }}
{{- if or $redis.url $redis.settings }}
{{- fail "redis: url and settings are of a Redis that is not installed; set redis.install to false." }}
{{- end }}
{{- if eq (empty $redis.password) (empty $redis.existingSecret) }}
{{- fail "redis: an installed Redis needs a password or an existingSecret, and not both." }}
{{- end }}
{{- else if ne (len (compact (list $redis.url $redis.existingSecret (ternary "settings" "" (not (empty $redis.settings)))))) 1 }}
{{- fail "redis: without install, exactly one of url, existingSecret and settings is needed." }}
{{- end }}
{{- end }}
