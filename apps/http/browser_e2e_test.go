package server_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPagesInABrowser uses the pages as people do. It keeps pictures of them in the folder
// that ASSAY_PICTURES names.
func TestPagesInABrowser(t *testing.T) {
	if os.Getenv("ASSAY_E2E") == "" {
		t.Skip("set ASSAY_E2E=1 to look at the pages in a browser")
	}
	b := &browser{T: t, ctx: startBrowser(t), f: serve(t)}
	b.watchComplaints()
	t.Run("start a test and see it live to its verdict", func(t *testing.T) { b.on(t).startATest() })
	t.Run("the list is live", func(t *testing.T) { b.on(t).seeTheList() })
	t.Run("the list is live again after the stream was refused", func(t *testing.T) { b.on(t).bearARefusal() })
	t.Run("by keyboard alone", func(t *testing.T) { b.on(t).byKeyboard() })
	t.Run("a failure with its evidence", func(t *testing.T) { b.on(t).seeAFailure() })
	t.Run("a mistake is shown beside its field", func(t *testing.T) { b.on(t).makeAMistake() })
	t.Run("for everybody", func(t *testing.T) { b.on(t).checkAccess() })
	t.Run("without JavaScript", func(t *testing.T) { b.on(t).withoutScripts() })
	if complaints := b.complained(); len(complaints) != 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// browser is somebody at a browser, in front of a server.
type browser struct {
	*testing.T
	ctx context.Context
	f   *fixture

	complaints *complaints
}

type complaints struct {
	mu   sync.Mutex
	list []string
}

func (b *browser) on(t *testing.T) *browser {
	other := *b
	other.T = t
	return &other
}

// watchComplaints notes errors of scripts, and requests to anybody else.
func (b *browser) watchComplaints() {
	b.complaints = &complaints{}
	err := chromedp.Listen(b.ctx, func(event any) {
		b.complaints.mu.Lock()
		defer b.complaints.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.complaints.list = append(b.complaints.list, fmt.Sprint("a script failed: ", e.ExceptionDetails))
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, b.f.URL) && !strings.HasPrefix(e.Request.URL, "data:") {
				b.complaints.list = append(b.complaints.list, "a request to "+e.Request.URL)
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *browser) complained() []string {
	b.complaints.mu.Lock()
	defer b.complaints.mu.Unlock()
	return b.complaints.list
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatalf("%v\n%s", err, b.text())
	}
}

// text is what the page says.
func (b *browser) text() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.pathname + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// sees waits until the expression is true on the page.
func (b *browser) sees(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	// The page can change to another one meanwhile, which ends what is evaluated on it.
	for {
		seen, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && seen {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			b.Fatalf("the page never shows %s (%v):\n%s", expression, err, b.text())
		}
	}
}

func (b *browser) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.f.URL + path))
}

func says(text string) string { return fmt.Sprintf("document.body.innerText.includes(%q)", text) }

func (b *browser) startATest() {
	b.open("/")
	b.sees(says("No test was made yet."))
	b.do(chromedp.Click("a.button"))
	b.sees(`document.querySelector("h1").textContent === "New test"`)
	b.do(chromedp.SendKeys("#template", "coder.webapp"), chromedp.Click(`button[formaction="/tests/new"]`))
	b.sees(`document.querySelector("#p0") !== null && document.querySelectorAll("#versions option").length === 4`)
	b.sees(`document.querySelector("#preset") !== null`)
	b.do(chromedp.SendKeys("#name", "from the page"))
	b.picture("form")
	b.do(chromedp.Click(`form.fields button:not([formaction])`))
	b.sees(`location.pathname.startsWith("/tests/")`)
	// Nobody loads the page again: it is live.
	b.sees(`document.querySelector("h1").innerText.includes("passed")`)
	b.sees(says("Every agent is connected") + " || " + says("Succeeded"))
}

func (b *browser) seeTheList() {
	b.open("/")
	b.sees(`document.querySelectorAll("tr[data-test]").length === 1`)
	broken := b.f.ended("broken").ID
	b.sees(fmt.Sprintf(`document.getElementById("test-%s")?.innerText.includes("failed")`, broken))
	b.sees(`document.getElementById("told").textContent !== ""`)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.querySelector("select[name=result]").value = "passed", document.querySelector("form.filters").submit(), true`)); err != nil {
		b.Fatal(err)
	}
	b.sees(`location.search.includes("result=passed") && document.querySelectorAll("tr[data-test]").length === 1`)
}

// bearARefusal has the server refuse the first stream of a page, and a test be made while
// there is none.
func (b *browser) bearARefusal() {
	const refuseFirst = `let streams = 0;
		window.EventSource = class extends EventSource { constructor(url) { super(streams++ ? url : "/api/v1/refused") } };`
	script, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: refuseFirst})
	if err != nil {
		b.Fatal(err)
	}
	b.open("/")
	b.sees(`!document.getElementById("link").hidden`)
	id := b.f.ended("good").ID
	b.sees(fmt.Sprintf(`document.getElementById("link").hidden && document.getElementById("test-%s")?.innerText.includes("passed")`, id))
	b.f.api(http.MethodDelete, "/tests/"+id, nil, http.StatusAccepted, nil)
	b.sees(fmt.Sprintf(`document.getElementById("test-%s") === null`, id))
	params := page.RemoveScriptToEvaluateOnNewDocumentParams(script)
	if _, err := chromedp.Call(b.ctx, page.RemoveScriptToEvaluateOnNewDocument, params); err != nil {
		b.Fatal(err)
	}
}

// byKeyboard starts a test without a pointer.
func (b *browser) byKeyboard() {
	b.open("/tests/new")
	focus := func(expression string) {
		b.Helper()
		for range 40 {
			b.do(chromedp.KeyEvent(kb.Tab))
			if at, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.activeElement.matches("+fmt.Sprintf("%q", expression)+")")); err == nil && at {
				return
			}
		}
		b.Fatalf("the key Tab does not lead to %s", expression)
	}
	focus("a.skip")
	focus("#template")
	// The key Enter in a field asks for what the template offers.
	b.do(chromedp.KeyEvent("coder.webapp"), chromedp.KeyEvent(kb.Enter))
	b.sees(`document.querySelector("#p0") !== null`)
	focus("form.fields button:not([formaction])")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.sees(`location.pathname.startsWith("/tests/") && !location.pathname.endsWith("/new")`)
	b.sees(`document.querySelector("h1").innerText.includes("passed")`)
}

func (b *browser) seeAFailure() {
	id := b.f.ended("broken").ID
	b.open("/tests/" + id)
	b.sees(says("AgentStartError") + " && " + says("What to do"))
	b.sees(`[...document.querySelectorAll("pre")].some(log => log.innerText.includes("no such package <b>&"))`)
	b.sees(`document.querySelectorAll("pre b").length === 0`)
}

func (b *browser) makeAMistake() {
	b.open("/tests/new")
	b.do(chromedp.SendKeys("#template", "webapp"), chromedp.SendKeys("#lines", "nonsense"), chromedp.Click(`form.fields button:not([formaction])`))
	b.sees(`document.querySelector("#lines-wrong").innerText.includes("name=value") && document.querySelector("#template").value === "webapp"`)
	b.do(chromedp.SendKeys("#lines", "=1"), chromedp.Click(`form.fields button:not([formaction])`))
	b.sees(`document.querySelector("#template-wrong")?.innerText.includes("<organization>.<template>")`)
}

// checkAccess has a checker look for what keeps people out, on each page, light and dark,
// wide and narrow.
func (b *browser) checkAccess() {
	checker, id := axe(b.T), b.f.ended("broken").ID
	var waiting test
	b.f.api(http.MethodPost, "/tests", newTest("slow"), http.StatusCreated, &waiting)
	for _, scheme := range []string{"light", "dark"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
			b.Fatal(err)
		}
		for name, path := range map[string]string{
			"list": "/", "test": "/tests/" + id, "running": "/tests/" + waiting.ID, "new": "/tests/new?template=coder.webapp", "planes": "/control-planes",
			"sweep": "/control-planes/main/sweep", "login": "/login", "missing": "/tests/none",
		} {
			for _, width := range []int64{1100, 320} {
				b.do(chromedp.EmulateViewport(width, 900))
				b.open(path)
				b.sees(`document.readyState === "complete"`)
				if over, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`)); err != nil || over > 0 {
					b.Errorf("%s: at %d pixels the page is %d wider than the window (%v)", name, width, over, err)
				}
				b.picture(fmt.Sprintf("%s-%s-%d", name, scheme, width))
				found, err := chromedp.Run(b.ctx, chromedp.EvaluateAsDevTools[[]string](checker+`
					axe.run().then(result => result.violations
						.filter(v => v.impact === "serious" || v.impact === "critical")
						.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.target + " " + n.failureSummary).join("; ")))`, chromedp.EvalAwaitPromise))
				if err != nil {
					b.Fatalf("%s: %v", name, err)
				}
				for _, problem := range found {
					b.Errorf("%s, %s, %d pixels: %s", name, scheme, width, problem)
				}
			}
		}
	}
	b.do(chromedp.EmulateViewport(1100, 900))
	b.f.api(http.MethodDelete, "/tests/"+waiting.ID, nil, http.StatusAccepted, nil)
}

func (b *browser) withoutScripts() {
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.Fatal(err)
	}
	b.open("/tests/new?template=coder.webapp")
	b.sees(`document.querySelector("#template").value === "coder.webapp"`)
	b.do(chromedp.Click(`form.fields button:not([formaction])`))
	// The page asks again by itself.
	b.sees(`location.pathname.startsWith("/tests/") && document.querySelector("h1").innerText.includes("passed")`)
	b.sees(`document.querySelectorAll(".trail tbody tr").length > 3`)
}

// picture keeps what the page looks like.
func (b *browser) picture(name string) {
	folder := os.Getenv("ASSAY_PICTURES")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600)
	}
	if err != nil {
		b.Error(err)
	}
}

// startBrowser starts a Chromium of this test's own; without one there is nothing to test.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Fatal("there is no chromium: install it, or run .ci/setup")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)
	// The context of the first call is the browser's life.
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	tab, giveUp := context.WithTimeout(tab, 5*time.Minute)
	t.Cleanup(giveUp)
	return tab
}

// The checker of accessibility, and the SHA-512 of its package.
const (
	axePackage   = "axe-core@4.14.1"
	axeIntegrity = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axe is the checker's script. npm fetches its package once for this user.
func axe(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(cache, "assay-tools", "axe-core-4.14.1.tgz")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), "npm", "pack", axePackage, "--silent", "--pack-destination", filepath.Dir(file))
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("fetch %s: %v: %s", axePackage, err, output)
		}
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != axeIntegrity {
		t.Fatalf("%s is not the package that is pinned here; remove it", file)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unpacked); ; {
		entry, err := archive.Next()
		if err != nil {
			t.Fatalf("%s holds no axe.min.js: %v", file, err)
		}
		if entry.Name != "package/axe.min.js" {
			continue
		}
		script, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		return string(script)
	}
}
