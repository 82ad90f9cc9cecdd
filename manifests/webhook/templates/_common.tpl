{{/*
What the charts of the webhook and of the auditor share. Both have the same file, which a test checks.
*/}}

{{/* The label that selects the pods. By it, `webhook uninstall`, `auditor uninstall` and `adopt` find an installation. */}}
{{- define "common.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
{{- end }}

{{/* The labels of pods, without those that every version of the chart changes. */}}
{{- define "common.podLabels" -}}
{{ include "common.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ trimPrefix "fleetdoctor-" .Chart.Name }}
app.kubernetes.io/part-of: fleetdoctor
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* A version as the value of a label or the tag of an image, which cannot have a plus sign. */}}
{{- define "common.version" -}}
{{- . | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The metadata of an object: dict "root" $, and of these as needed: "suffix" of the name, "cluster" true for an object
without namespace, another "name" or "namespace", further "labels" and "annotations".
*/}}
{{- define "common.metadata" -}}
{{- $root := .root }}
{{- $labels := include "common.podLabels" $root | fromYaml }}
{{- $_ := set $labels "helm.sh/chart" (include "common.version" (printf "%s-%s" $root.Chart.Name $root.Chart.Version)) }}
{{- $_ := set $labels "app.kubernetes.io/version" (include "common.version" $root.Chart.AppVersion) }}
{{- $annotations := merge dict (.annotations | default dict) }}
{{- if $root.Values.keep }}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
{{- end -}}
name: {{ .name | default (print $root.Chart.Name (.suffix | default "")) }}
{{- if not .cluster }}
namespace: {{ .namespace | default $root.Release.Namespace }}
{{- end }}
labels: {{- toYaml (merge $labels (.labels | default dict)) | nindent 2 }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* "true" unless a switch is false. With `helm upgrade --reuse-values`, the values of an older chart have no switch. */}}
{{- define "common.isOn" -}}
{{- if ne (toString .) "false" }}true{{ end }}
{{- end }}

{{/* The name of the account of the pods. */}}
{{- define "common.account" -}}
{{- $account := .Values.serviceAccount | default dict }}
{{- if and (not $account.name) (not (include "common.isOn" $account.create)) }}
{{- fail "serviceAccount.create is false: serviceAccount.name must name an account that exists" }}
{{- end }}
{{- $account.name | default .Chart.Name }}
{{- end }}

{{/* The account as the subject of a binding. */}}
{{- define "common.subjects" -}}
- kind: ServiceAccount
  name: {{ include "common.account" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "common.serviceAccount" -}}
{{- $account := .Values.serviceAccount | default dict }}
{{- if include "common.isOn" $account.create -}}
apiVersion: v1
kind: ServiceAccount
{{- $options := dict "root" . "name" $account.name "annotations" $account.annotations }}
metadata: {{- include "common.metadata" $options | nindent 2 }}
{{- end }}
{{- end }}

{{/* The image. Rancher sets systemDefaultRegistry to a registry that has the images of an air-gapped cluster. */}}
{{- define "common.image" -}}
{{- $image := .Values.image | default dict }}
{{- if kindIs "string" $image }}
{{- $image }}
{{- else }}
{{- with ((.Values.global).cattle).systemDefaultRegistry }}{{ trimSuffix "/" . }}/{{ end }}
{{- $image.repository | default "fleetdoctor/kubectl-fleetdoctor" }}
{{- if $image.digest }}@{{ $image.digest }}
{{- else }}:{{ $image.tag | default (include "common.version" .Chart.AppVersion) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secrets for the image, as names or as objects with a name. */}}
{{- define "common.pullSecrets" -}}
{{- $global := .Values.global | default dict }}
{{- range concat (.Values.imagePullSecrets | default list) ($global.imagePullSecrets | default list)
  (($global.cattle).imagePullSecrets | default list) | uniq }}
- name: {{ if kindIs "string" . }}{{ . }}{{ else }}{{ .name }}{{ end }}
{{- end }}
{{- end }}

{{/* A percentage of a memory limit in bytes; empty if the limit has an unusual form. */}}
{{- define "common.partOfMemory" -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $limit := toString .limit }}
{{- if regexMatch "^[0-9]+([.][0-9]+)?([kMGT]|[KMGT]i)?$" $limit }}
{{- $unit := regexFind "[a-zA-Z]*$" $limit }}
{{- printf "%.0f" (floor (mulf (trimSuffix $unit $limit | float64) (get $units $unit | float64) .percent 0.01)) }}
{{- end }}
{{- end }}

{{/* The pod without its containers and volumes. */}}
{{- define "common.pod" -}}
serviceAccountName: {{ include "common.account" . }}
{{- with include "common.pullSecrets" . }}
imagePullSecrets: {{- . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
enableServiceLinks: false
terminationGracePeriodSeconds: 30
nodeSelector: {{- .Values.nodeSelector | default (dict "kubernetes.io/os" "linux") | toYaml | nindent 2 }}
tolerations:
# Rancher taints the Linux nodes of clusters with Windows nodes.
- key: cattle.io/os
  operator: Equal
  value: linux
  effect: NoSchedule
{{- with .Values.tolerations }}
{{ toYaml . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 0 }}
{{- end }}
{{- if not (kindIs "slice" .Values.topologySpreadConstraints) }}
# ScheduleAnyway, so that a cluster with one node runs both replicas.
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- topologyKey: {{ . }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "common.selector" $ | nindent 6 }}
{{- end }}
{{- end }}
# No runAsUser: the image has one, and OpenShift assigns another one.
securityContext:
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* The labels and annotations of the pods. */}}
{{- define "common.podMetadata" -}}
labels: {{- merge (include "common.podLabels" . | fromYaml) (.Values.podLabels | default dict) | toYaml | nindent 2 }}
{{- with .Values.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The container without its name, arguments, ports and mounts: dict "root" $, the default "resources", and "percent", the
part of the memory limit at which the garbage collector runs more often.
*/}}
{{- define "common.container" -}}
{{- $values := .root.Values }}
{{- $resources := $values.resources | default .resources -}}
image: {{ include "common.image" .root | quote }}
{{- if not (kindIs "string" $values.image) }}
imagePullPolicy: {{ ($values.image).pullPolicy | default "IfNotPresent" }}
{{- end }}
{{- $limit := include "common.partOfMemory" (dict "limit" (($resources.limits).memory) "percent" .percent) }}
{{- $env := $values.extraEnv | default list }}
{{- range $env }}
{{- if eq .name "GOMEMLIMIT" }}
{{- $limit = "" }}
{{- end }}
{{- end }}
{{- if $limit }}
{{- $env = prepend $env (dict "name" "GOMEMLIMIT" "value" $limit) }}
{{- end }}
{{- with $env }}
env: {{- toYaml . | nindent 0 }}
{{- end }}
# Not /readyz, which fails until everything is read: a restart would only read it again.
startupProbe:
  httpGet:
    path: /livez
    port: probes
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /livez
    port: probes
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  periodSeconds: 5
  failureThreshold: 2
resources: {{- toYaml $resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
  readOnlyRootFilesystem: true
{{- end }}

{{/* How the Deployment replaces its pods. */}}
{{- define "common.rollout" -}}
replicas: {{ .Values.replicas }}
selector:
  matchLabels: {{- include "common.selector" . | nindent 4 }}
strategy:
  type: RollingUpdate
  rollingUpdate:
    maxSurge: 1
    maxUnavailable: 0
{{- end }}

{{- define "common.podDisruptionBudget" -}}
{{- if include "common.isOn" (.Values.podDisruptionBudget).enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "common.metadata" (dict "root" .) | nindent 2 }}
spec:
  maxUnavailable: 1
  # A replica that is not ready must not prevent the drain of a node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "common.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* Addresses as peers of a NetworkPolicy. */}}
{{- define "common.addresses" }}
{{- range . }}
- ipBlock:
    cidr: {{ contains "/" . | ternary . (printf "%s/%s" . (contains ":" . | ternary "128" "32")) }}
{{- end }}
{{- end }}

{{/* Not a ServiceMonitor: each replica has its own metrics. */}}
{{- define "common.podMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {{- include "common.metadata" (dict "root" .root "labels" .labels) | nindent 2 }}
spec:
  selector:
    matchLabels: {{- include "common.selector" .root | nindent 6 }}
  podMetricsEndpoints:
  - port: metrics
    path: /metrics
    {{- range $key := list "interval" "scrapeTimeout" }}
    {{- with get ($.root.Values.podMonitor | default dict) $key }}
    {{ $key }}: {{ . }}
    {{- end }}
    {{- end }}
{{- end }}

{{/* The sentence of NOTES.txt about an image that is stated as one string. */}}
{{- define "common.oldImage" -}}
{{- if kindIs "string" .Values.image }}
{{- if .Values.image }}
Warning: image is one string. The next version refuses it: set image.repository, image.tag or image.digest.
{{- end }}
{{- end }}
{{- end }}
