package coderd_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
)

func decodeJSON(response *http.Response, into any) error {
	return json.NewDecoder(response.Body).Decode(into)
}

// readKinds tells the kind of each event of a stream.
func readKinds(response *http.Response, kinds chan<- string) {
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			select {
			case kinds <- kind:
			case <-response.Request.Context().Done():
				return
			}
		}
	}
}
