{{/* The memory limit is for several large release records at once. No CPU limit: it would slow down the API server. */}}
{{- define "webhook.resources" -}}
requests:
  cpu: 50m
  memory: 128Mi
limits:
  memory: 512Mi
{{- end }}

{{/* How the API server calls a webhook at a path. While the webhook is down, every request passes. */}}
{{- define "webhook.call" -}}
admissionReviewVersions: [v1]
clientConfig:
  service:
    name: fleetdoctor-webhook
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}
failurePolicy: Ignore
timeoutSeconds: 2
# The rules match all versions, so no object is converted. If you narrow the rules, requests for other versions of an
# object still match.
matchPolicy: Equivalent
# The server matches the old and the new object, and calls the webhook if either does not have the label: the label has
# an effect from the request after the one that sets it. (For a Namespace itself the namespaceSelector matches the new
# labels only: one request can set the label and remove the ownership metadata of the Namespace.)
objectSelector:
  matchExpressions:
  - key: fleetdoctor.io/ignore
    operator: NotIn
    values: ["true"]
  # The webhook's own objects, so that an upgrade never depends on the webhook.
  - key: app.kubernetes.io/name
    operator: NotIn
    values: [fleetdoctor-webhook]
{{- end }}

{{/* The namespaces for which no webhook is called, as expressions of a namespaceSelector. */}}
{{- define "webhook.namespaces" -}}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values:
  - kube-system
  - kube-public
  - kube-node-lease
  - cattle-fleet-system
  - cattle-fleet-local-system
  - cattle-fleet-clusters-system
  - fleet-system
  - fleet-clusters-system
  - {{ .Release.Namespace }}
# The namespaces in which Fleet keeps the BundleDeployments of each cluster.
- key: fleet.cattle.io/managed
  operator: NotIn
  values: ["true"]
- key: fleetdoctor.io/ignore
  operator: NotIn
  values: ["true"]
{{- end }}

{{/*
The conditions that all webhooks have. All conditions must be true. After an error of an expression the request
continues without the webhook, because of the failurePolicy. No expression causes an error: each checks that a field
exists before it reads the field.
*/}}
{{- define "webhook.conditions" -}}
- name: not-a-lease-or-event
  expression: |-
    !(request.resource.resource == 'leases' && request.resource.group == 'coordination.k8s.io') &&
    !(request.resource.resource == 'events' && request.resource.group in ['', 'events.k8s.io'])
- name: not-being-deleted
  expression: |-
    oldObject == null || !has(oldObject.metadata) || !has(oldObject.metadata.deletionTimestamp)
{{- end }}

{{/* The authority that cert-manager writes into the caBundle of the webhooks, as annotations. */}}
{{- define "webhook.authority" -}}
{{- if eq .Values.certificates "cert-manager" }}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/fleetdoctor-webhook
{{- end }}
{{- end }}

{{/* What a binding to the release records has beside its metadata. */}}
{{- define "webhook.records" }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: fleetdoctor-webhook-records
subjects: {{- include "common.subjects" . | nindent 0 }}
{{- end }}

{{/* The mode of record: changes for the values of a chart without it. */}}
{{- define "webhook.record" -}}
{{- .Values.record | default "changes" }}
{{- end }}
