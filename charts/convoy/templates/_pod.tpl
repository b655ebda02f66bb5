{{/* What the pods have in common. */}}

{{/* Service links would set CONVOY_PORT to an address wherever a Service is named convoy. */}}
{{- define "convoy.podBasics" -}}
enableServiceLinks: false
automountServiceAccountToken: false
serviceAccountName: {{ include "convoy.serviceAccountName" . }}
terminationGracePeriodSeconds: 30
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Takes the values of a component. */}}
{{- define "convoy.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* Takes the users and groups of the pod. */}}
{{- define "convoy.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- with . }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "convoy.containerSecurityContext" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end }}

{{- define "convoy.scheme" -}}
{{- ternary "https" "http" (not (empty .Values.tls.existingSecret)) }}
{{- end }}

{{/* Address of a pod's own API; certificates name hosts. */}}
{{- define "convoy.ownAddress" -}}
{{- ternary "https://localhost" "http://127.0.0.1" (not (empty .Values.tls.existingSecret)) }}
{{- end }}

{{/* An instance or coordinator is healthy while it answers requests, and ready once it takes commands. */}}
{{- define "convoy.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: api
    scheme: {{ include "convoy.scheme" . | upper }}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /healthz
    port: api
    scheme: {{ include "convoy.scheme" . | upper }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: api
    scheme: {{ include "convoy.scheme" . | upper }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{/* Takes a dict: root, component, port, and the names under which the pod is called. */}}
{{- define "convoy.serviceEnvironment" -}}
{{- $values := .root.Values -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: CONVOY_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "convoy.accessSecret" .root }}
      key: token
{{- if not $values.redis.settings }}
- name: CONVOY_REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "convoy.redisSecret" .root }}
      key: url
{{- end }}
- name: CONVOY_FLEET_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ include "convoy.accessSecret" .root }}
      key: fleetSecret
      optional: true
{{- if $values.tls.existingSecret }}
- name: CONVOY_TLS
  value: '{"certFile": "/etc/convoy-tls/tls.crt", "keyFile": "/etc/convoy-tls/tls.key"}'
{{- end }}
- name: CONVOY_FLEET
  value: {{ include "convoy.fleet" .root | quote }}
- name: CONVOY_LISTEN
  value: {{ $values.listen | quote }}
- name: CONVOY_PORT
  value: {{ .port | quote }}
{{- /* Prometheus calls pods by their address; one of IPv6 stands in brackets then. */}}
- name: CONVOY_ALLOWED_HOSTS
  value: {{ concat (list "$(POD_IP)" "[$(POD_IP)]") .hosts | join "," | quote }}
{{- end }}

{{/* Takes a list: the root and a Service's name. Returns its names as a list in JSON. */}}
{{- define "convoy.serviceHosts" -}}
{{- $root := index . 0 }}
{{- $service := index . 1 }}
{{- $space := printf "%s.%s" $service $root.Release.Namespace }}
{{- list $service $space (printf "%s.svc" $space) (printf "%s.svc.cluster.local" $space) | toJson }}
{{- end }}

{{- define "convoy.volumes" -}}
- name: settings
  {{- if .Values.redis.settings }}
  secret:
    secretName: {{ include "convoy.fullname" . }}-settings
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ include "convoy.fullname" . }}-settings
    defaultMode: 0440
  {{- end }}
{{- with .Values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end }}

{{- define "convoy.volumeMounts" -}}
- name: settings
  mountPath: /etc/convoy
  readOnly: true
{{- if .Values.tls.existingSecret }}
# As a folder, so that renewed certificates arrive.
- name: tls
  mountPath: /etc/convoy-tls
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- end }}

{{/* A change of settings or of the chart's own Secrets restarts the pods. */}}
{{- define "convoy.checksums" -}}
checksum/settings: {{ include (print $.Template.BasePath "/settings.yaml") . | sha256sum }}
checksum/secrets: {{ include (print $.Template.BasePath "/secrets.yaml") . | sha256sum }}
{{- end }}
