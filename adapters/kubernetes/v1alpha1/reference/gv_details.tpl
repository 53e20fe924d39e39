{{- define "gvDetails" }}
All of them are of the version `{{ .GroupVersionString }}`:
{{ $version := . }}
{{- range .SortedKinds }}
- [{{ . }}](#{{ lower . }})
{{- end }}
{{ range .SortedKinds }}{{ template "type" $version.TypeForKind . }}{{ end }}
{{- range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end -}}
