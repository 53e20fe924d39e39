{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
As of every object.
{{- else -}}
{{ .Doc | replace "|" "\\|" | replace "<" "&lt;" | replace "\n" " " | replace "  " "<br>" }}
{{- end -}}
{{- end -}}
