{{/* The memory limit is enough for 50,000 objects. No CPU limit: it would only delay reports. */}}
{{- define "auditor.resources" -}}
requests:
  cpu: 10m
  memory: 64Mi
limits:
  memory: 300Mi
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

{{/* The labels of a PodMonitor or PrometheusRule: its own, and those of the former value prometheusLabels. */}}
{{- define "auditor.monitorLabels" -}}
{{- merge dict (.own | default dict) (.root.Values.prometheusLabels | default dict) | toYaml }}
{{- end }}

{{/* The dashboards; the former value was the string configmap or none. */}}
{{- define "auditor.dashboards" -}}
{{- $dashboards := .Values.dashboards | default dict }}
{{- if kindIs "string" $dashboards }}
{{- $dashboards = dict "enabled" (eq $dashboards "configmap") }}
{{- end }}
{{- toYaml $dashboards }}
{{- end }}
