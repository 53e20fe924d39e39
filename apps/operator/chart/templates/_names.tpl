{{- define "assay.name" -}}
{{- .Values.fullnameOverride | default (contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name (.Values.nameOverride | default .Chart.Name))) | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "assay.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "assay.name" .) -}}
{{- else -}}
{{- required "serviceAccount.name: name one, or set serviceAccount.create" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "assay.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "assay.labels" -}}
{{ include "assay.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "assay.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "assay.subject" -}}
- kind: ServiceAccount
  name: {{ include "assay.account" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* What the operator does where tests are. The files come from the generated roles. */}}
{{- define "assay.rules" -}}
{{ .Files.Get "files/rbac/work.yaml" }}
{{- if .Values.managedControlPlanes.enabled }}
{{- with .Files.Get "files/rbac/managed.yaml" | fromYamlArray }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- if .Values.evidence.enabled }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, update]
{{- end }}
{{- end -}}
