package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/assay-dev/assay/core"
)

// void are the elements that have no end.
var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

// TestPagesAreWellFormed shows of each page that what it opens it closes, that an ID stands
// for one thing, that labels and descriptions lead somewhere, and that what it loads is
// there.
func TestPagesAreWellFormed(t *testing.T) {
	f := serve(t)
	broken := f.ended("broken").ID
	for _, path := range []string{
		"/", "/?result=failed&template=coder.webapp", "/?from=never", "/tests/" + broken, "/tests/" + broken + "?fragment=row", "/tests/none", "/tests/new",
		"/tests/new?template=coder.webapp&version=active&preset=none&value.region=mars", "/control-planes", "/control-planes/main/sweep", "/login",
	} {
		t.Run(path, func(t *testing.T) {
			text := f.do(asked{method: http.MethodGet, path: path, header: map[string]string{"Accept": "text/html"}}).text
			ids, meant := map[string]bool{}, []string{}
			var stack []string
			tokens := html.NewTokenizer(strings.NewReader(text))
			for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
				token := tokens.Token()
				switch kind {
				case html.StartTagToken:
					if !slices.Contains(void, token.Data) {
						stack = append(stack, token.Data)
					}
					for _, attribute := range token.Attr {
						switch {
						case attribute.Key == "id" && ids[attribute.Val]:
							t.Errorf("the ID %q is used twice", attribute.Val)
						case attribute.Key == "id":
							ids[attribute.Val] = true
						case slices.Contains([]string{"for", "aria-describedby", "aria-labelledby", "list"}, attribute.Key):
							meant = append(meant, attribute.Val)
						case attribute.Key == "src", attribute.Key == "href" && token.DataAtom == atom.Link:
							if answer := f.do(asked{method: http.MethodGet, path: attribute.Val}); answer.status != http.StatusOK {
								t.Errorf("%s: %d", attribute.Val, answer.status)
							}
						}
					}
				case html.EndTagToken:
					if len(stack) == 0 || stack[len(stack)-1] != token.Data {
						t.Fatalf("</%s> ends %v", token.Data, stack)
					}
					stack = stack[:len(stack)-1]
				}
			}
			if len(stack) > 0 {
				t.Errorf("%v are never closed", stack)
			}
			for _, id := range meant {
				if !ids[id] {
					t.Errorf("nothing has the ID %q, which a label or a description is about", id)
				}
			}
		})
	}
}

// press sends a form of a page.
func (f *fixture) press(path string, values ...string) answered {
	f.t.Helper()
	body, header := form(values...)
	header["Accept"] = "text/html"
	return f.do(asked{method: http.MethodPost, path: path, body: body, header: header})
}

// TestAButtonThatSaysLessThanItWouldDo shows that stopping a test which ended meanwhile
// does not delete its verdict.
func TestAButtonThatSaysLessThanItWouldDo(t *testing.T) {
	f := serve(t)
	id := f.ended("broken").ID
	for _, said := range []string{"false", ""} {
		if answer := f.press("/tests/"+id+"/stop", "finished", said); answer.status != http.StatusSeeOther || answer.header.Get("Location") != "/tests/"+id {
			t.Errorf("%d to %s, want to see the test", answer.status, answer.header.Get("Location"))
		}
		f.api(http.MethodGet, "/tests/"+id, nil, http.StatusOK, nil)
		f.api(http.MethodGet, "/tests/"+id+"/evidence", nil, http.StatusOK, nil)
	}
	if answer := f.press("/tests/"+id+"/stop", "finished", "true"); answer.status != http.StatusSeeOther || answer.header.Get("Location") != "/" {
		t.Errorf("to delete the record: %d to %s", answer.status, answer.header.Get("Location"))
	}
	f.api(http.MethodGet, "/tests/"+id, nil, http.StatusNotFound, nil)
	var running test
	f.api(http.MethodPost, "/tests", newTest("slow"), http.StatusCreated, &running)
	if answer := f.press("/tests/"+running.ID+"/stop", "finished", "false"); answer.status != http.StatusSeeOther {
		t.Errorf("to stop a test: %d", answer.status)
	}
	err := f.watcher().watch(t.Context(), "/api/v1/tests/"+running.ID+"/events", -1, func(event string, _ core.TestTransition) error {
		if event == "gone" {
			return errStop
		}
		return nil
	})
	if !errors.Is(err, errStop) {
		t.Errorf("a test that was stopped is not gone: %v", err)
	}
}

var keyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

// TestAFormThatIsSentAgain shows that the same form makes one test, and that somebody who
// comes back to it and changes it is not stuck.
func TestAFormThatIsSentAgain(t *testing.T) {
	f := serve(t)
	send := func(key, version string) answered {
		return f.press("/tests", "controlPlane", "main", "template", "coder.webapp", "version", version, "key", key)
	}
	first, again := send("one", "good"), send("one", "good")
	if first.status != http.StatusSeeOther || first.header.Get("Location") != again.header.Get("Location") {
		t.Errorf("the same form made %s and %s", first.header.Get("Location"), again.header.Get("Location"))
	}
	changed := send("one", "broken")
	key := keyField.FindStringSubmatch(changed.text)
	if changed.status != http.StatusUnprocessableEntity || !strings.Contains(changed.text, "Send it again") || key == nil || key[1] == "one" {
		t.Fatalf("the changed form: %d, key %v, want 422 and a new key", changed.status, key)
	}
	if second := send(key[1], "broken"); second.status != http.StatusSeeOther || second.header.Get("Location") == first.header.Get("Location") {
		t.Errorf("the changed form once more: %d to %s", second.status, second.header.Get("Location"))
	}
}

func TestMistakesInTheForm(t *testing.T) {
	f := serve(t)
	for _, row := range []struct {
		name, field, value, wrong, why string
	}{
		{"minutes", "minutes", "0", "minutes", "no time at all"},
		{"minutes", "minutes", "153722867280912931", "minutes", "60 times that is 60 again in 64 bits"},
		{"minutes", "minutes", "ten", "minutes", "no number"},
		{"name", "name", "a\u202eb", "name", "it shows another text"},
		{"preset", "preset", strings.Repeat("x", 1000), "preset", "it is too long, and the template offers none such"},
		{"plane", "controlPlane", "mars", "controlPlane", "there is none such"},
	} {
		t.Run(row.name, func(t *testing.T) {
			values := map[string]string{"controlPlane": "main", "template": "coder.webapp", "version": "good", row.field: row.value}
			var pairs []string
			for name, value := range values {
				pairs = append(pairs, name, value)
			}
			answer := f.press("/tests", pairs...)
			if answer.status != http.StatusUnprocessableEntity || !strings.Contains(answer.text, fmt.Sprintf(`id="%s-wrong"`, row.wrong)) {
				t.Errorf("%d, want 422 and a word beside the field %s: %s", answer.status, row.wrong, row.why)
			}
		})
	}
}

func TestWhatTheFormOffers(t *testing.T) {
	f := serve(t)
	for _, row := range []struct {
		query        string
		shows, hides string
		why          string
	}{
		{"template=coder.webapp", `name="value.region"`, "not offered", "the active version's parameters"},
		{"template=coder.webapp&version=broken", `name="value.region"`, "not offered", "those of the version that is named"},
		{"template=coder.webapp&version=typing", `name="lines"`, `name="value.region"`, "those of another version would be a mistake"},
		{"template=coder.webapp&preset=large", `<option value="large" selected>large (not offered)`, "", "it would be sent"},
		{"template=coder.webapp&preset=small", `<option selected>small`, "not offered", "it is offered"},
		{"template=coder.webapp&value.region=mars", `<option value="mars" selected>mars (not offered)`, "", "it would be sent"},
	} {
		text := f.do(asked{method: http.MethodGet, path: "/tests/new?" + row.query}).text
		if !strings.Contains(text, row.shows) || row.hides != "" && strings.Contains(text, row.hides) {
			t.Errorf("%s: want %s, and not %q: %s\n%s", row.query, row.shows, row.hides, row.why, text)
		}
	}
}

func TestWhatPagesSayOfOddThings(t *testing.T) {
	f := serve(t)
	if text := f.do(asked{method: http.MethodGet, path: "/?result=odd"}).text; !strings.Contains(text, "Result: must be one of failed, inconclusive, passed") {
		t.Error("an unknown result is ignored")
	}
	text := f.do(asked{method: http.MethodGet, path: "/tests/" + f.ended("broken").ID}).text
	if !strings.Contains(text, "no such package &lt;b&gt;&amp;") || strings.Contains(text, "\u202e") {
		t.Error("a log turns the direction of text, or is not shown")
	}
}
