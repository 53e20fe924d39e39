{{- define "type" -}}
{{- if markdownShouldRenderType . }}
{{ if .GVK }}## {{ .Name }}{{ else }}### {{ .Name }}{{ end }}

{{ .Doc | replace "<" "&lt;" | replace "\n" " " | replace "  " "\n\n" }}
{{ with index .Markers "kubebuilder:validation:XValidation" }}
Rules:
{{ range . }}
- {{ template "rule" . }}
{{- end }}
{{ end -}}
{{ if .EnumValues }}
Values:
{{ range .EnumValues }}
- `{{ .Name }}`{{ with .Doc }}: {{ . | replace "\n" " " }}{{ end }}
{{- end }}
{{ end -}}
{{ if and .References (not .GVK) }}
Used by {{ range $i, $type := .SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $type }}{{ end }}.
{{ end -}}
{{ if .Members }}
| field | type | default | rules | description |
| --- | --- | --- | --- | --- |
{{ if .GVK -}}
| `apiVersion` | string | | required | `{{ .GVK.Group }}/{{ .GVK.Version }}` |
| `kind` | string | | required | `{{ .GVK.Kind }}` |
{{ end -}}
{{ range .Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ with .Default }}`{{ . | replace "{  }" "{}" }}`{{ end }} | {{ template "rules" . }} | {{ template "type_members" . }} |
{{ end -}}
{{ end -}}
{{ end -}}
{{ end -}}

{{- define "rules" -}}
{{- $kept := list -}}
{{- range .Validation -}}
  {{- if eq . "Required: {}" -}}{{ $kept = append $kept "required" }}
  {{- else if ne . "Optional: {}" -}}{{ $kept = append $kept (printf "`%s`" (. | replace "|" "\\|" | replace "\x60" "")) }}
  {{- end -}}
{{- end -}}
{{ join "<br>" $kept }}
{{- range $i, $rule := index .Markers "kubebuilder:validation:XValidation" -}}
{{ if or $i $kept }}<br>{{ end }}{{ template "rule" $rule }}
{{- end -}}
{{- end -}}

{{- define "rule" -}}
{{ with .FieldPath }}`{{ . | trimPrefix "." }}` {{ end }}{{ .Message }}
{{- end -}}
