package report_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/assay-dev/assay/adapters/report"
)

// TestPageInABrowser looks at the page as people do. It keeps pictures of it in the folder
// that ASSAY_PICTURES names.
func TestPageInABrowser(t *testing.T) {
	if os.Getenv("ASSAY_E2E") == "" {
		t.Skip("set ASSAY_E2E=1 to look at the report in a browser")
	}
	browser := startBrowser(t)
	var document bytes.Buffer
	if err := report.WriteHTML(&document, mixed()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(document.Bytes())
	}))
	defer server.Close()

	var mu sync.Mutex
	var requests, complaints []string
	err := chromedp.Listen(browser, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			requests = append(requests, e.Request.URL)
		case *runtime.EventConsoleAPICalled, *page.EventJavascriptDialogOpening:
			complaints = append(complaints, fmt.Sprintf("a script ran: %T", e))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(browser, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(browser, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	for _, look := range []struct {
		name   string
		width  int64
		scheme string
		paper  string
	}{
		{"light", 1100, "light", "rgb(246, 247, 249)"},
		{"dark", 1100, "dark", "rgb(18, 22, 29)"},
		{"narrow", 360, "light", "rgb(246, 247, 249)"},
		{"tablet", 700, "light", "rgb(246, 247, 249)"},
	} {
		t.Run(look.name, func(t *testing.T) {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}
			if _, err := chromedp.Call(browser, emulation.SetEmulatedMedia, media); err != nil {
				t.Fatal(err)
			}
			if err := chromedp.Do(browser, chromedp.EmulateViewport(look.width, 2400)); err != nil {
				t.Fatal(err)
			}
			saw, err := chromedp.Run(browser, chromedp.Evaluate[view](`({
					Overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
					Sections: document.querySelectorAll("main section h2").length,
					Rows: document.querySelectorAll("table.overview tbody tr th[scope=row] a[href^='#test-']").length,
					Landmarks: document.querySelectorAll("header, main, nav, footer").length,
					Scripts: document.querySelectorAll("script, iframe, link").length,
					Images: document.querySelectorAll("img").length,
					Heading: document.querySelector("h1").textContent,
					Paper: getComputedStyle(document.body).backgroundColor,
				})`))
			if err != nil {
				t.Fatal(err)
			}
			if saw.Overflow > 0 {
				t.Errorf("at %d pixels the page is %d wider than the window", look.width, saw.Overflow)
			}
			if saw.Sections != 15 || saw.Rows != 15 || saw.Landmarks != 4 || saw.Heading != "Template tests: nightly" {
				t.Errorf("the page has %+v", saw)
			}
			if saw.Scripts != 0 || saw.Images != 0 {
				t.Errorf("text became markup: %+v", saw)
			}
			if saw.Paper != look.paper {
				t.Errorf("the page is %s, want %s: does its policy take its style?", saw.Paper, look.paper)
			}
			keepPicture(browser, t, look.name)
		})
	}
	t.Run("on paper", func(t *testing.T) {
		closed := chromedp.Evaluate[int](`[...document.querySelectorAll("details pre")].filter(log => !log.checkVisibility()).length`)
		if hidden, err := chromedp.Run(browser, closed); err != nil || hidden == 0 {
			t.Errorf("on the screen %d logs are closed, %v", hidden, err)
		}
		if _, err := chromedp.Call(browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
			t.Fatal(err)
		}
		if hidden, err := chromedp.Run(browser, closed); err != nil || hidden != 0 {
			t.Errorf("on paper %d logs are missing, %v", hidden, err)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if len(requests) != 1 || len(complaints) != 0 {
		t.Errorf("requests %q, complaints %q; want the page itself and none", requests, complaints)
	}
}

// view is what a script finds on the page.
type view struct {
	Overflow, Sections, Rows, Landmarks, Scripts, Images int
	Heading, Paper                                       string
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
	browser, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)
	// The context of the first call is the browser's life.
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	browser, giveUp := context.WithTimeout(browser, 2*time.Minute)
	t.Cleanup(giveUp)
	return browser
}

func keepPicture(browser context.Context, t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("ASSAY_PICTURES")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(browser, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}
