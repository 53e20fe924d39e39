{{- define "gvList" -}}
# Reference of the API

<!-- Written by make docs-reference from the Go types in adapters/kubernetes/v1alpha1. Do not edit. -->

The objects of the operator, with every field. The API server refuses what breaks a rule, and names the field. Reasons and conditions are on
[a page of their own](reasons.md), and what a test does is in [the lifecycle](lifecycle.md). `kubectl explain` tells the same in a
cluster, with long descriptions cut short.
{{ range . }}{{ template "gvDetails" . }}{{ end }}
{{- end -}}
