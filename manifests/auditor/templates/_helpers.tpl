{{/* The metadata of an object in the namespace of the release; those of other objects have no namespace. */}}
{{- define "auditor.metadata" -}}
name: fleetdoctor-auditor
namespace: {{ .Release.Namespace }}
{{ include "auditor.marks" . }}
{{- end }}

{{/* The labels of every object. By the first one, `auditor uninstall` finds the auditor. */}}
{{- define "auditor.labels" -}}
app.kubernetes.io/name: fleetdoctor-auditor
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The labels and annotations of an object without further ones. */}}
{{- define "auditor.marks" -}}
labels: {{- include "auditor.labels" . | nindent 2 }}
{{- include "auditor.keep" . }}
{{- end }}

{{/*
The auditor outlives what it watches: when Fleet or its agent removes the releases of a cluster, the auditor must still
report it. With this annotation, neither Helm nor Fleet deletes an object.
*/}}
{{- define "auditor.keep" -}}
{{- if .Values.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{/* The account that all roles are bound to. */}}
{{- define "auditor.subjects" -}}
- kind: ServiceAccount
  name: fleetdoctor-auditor
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The kinds that bundles deploy, with verbs: one rule for each of readRules, or one for all kinds. */}}
{{- define "auditor.deployed" -}}
{{- $verbs := .verbs }}
{{- range .root.Values.readRules | default (list (dict "apiGroups" (list "*") "resources" (list "*"))) }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end }}
