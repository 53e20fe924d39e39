package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a Run, a Test or a list of tests as one indented JSON document.
func WriteJSON(out io.Writer, document any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// WriteLine writes a test as one line of NDJSON.
func WriteLine(out io.Writer, test Test) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(test)
}
