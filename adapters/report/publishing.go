package report

import "fmt"

// told is what is said of a push or a promotion.
type told struct {
	judgment
	title, template string
}

// published tells what was done to the template beside the tests. A promotion that did not
// happen is something of its own only where the tests were well.
func (run *Run) published(count tally) []told {
	var all []told
	if p := run.Push; p != nil {
		one := told{title: "push " + p.Version.text(), template: p.Template}
		switch {
		case p.Error == "":
			one.judgment = judgment{stoodWell, "", fmt.Sprintf("pushed as the version %s of %s", p.Version.text(), p.Template)}
		case p.ImportError != "":
			one.judgment = judgment{stoodFailed, "ImportFailed", p.Error + ": " + p.ImportError}
		default:
			one.judgment = judgment{stoodError, "PushFailed", p.Error}
		}
		all = append(all, one)
	}
	if p := run.Promotion; p != nil {
		one := told{title: "promote " + p.Version.text(), template: p.Template}
		switch {
		case p.Active && p.Changed:
			one.judgment = judgment{stoodWell, "", fmt.Sprintf("promoted: the active version of %s is %s; it was %s", p.Template, p.Version.text(), p.Was.text())}
		case p.Active:
			one.judgment = judgment{stoodWell, "", fmt.Sprintf("nothing to promote: the active version of %s is %s already", p.Template, p.Version.text())}
		case count.failed+count.erred > 0:
			one.judgment = judgment{stoodAside, "NotPromoted", "not promoted: " + p.Reason}
		default:
			one.judgment = judgment{stoodError, "NotPromoted", "not promoted: " + p.Reason}
		}
		all = append(all, one)
	}
	return all
}

// text is the version's name, or its ID where that is all that is known.
func (v PushedVersion) text() string {
	switch {
	case v.Name != "":
		return v.Name
	case known(v.ID) != "":
		return known(v.ID)
	default:
		return "an unknown version"
	}
}
