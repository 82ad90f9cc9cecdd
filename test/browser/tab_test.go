// SPDX-License-Identifier: Apache-2.0

// Package browser_test opens the HTML report in a real browser.
package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// names are the names of the browser on the PATH.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// shared is the browser of all tests. It starts with the first one.
var shared = sync.OnceValues(start)

// errNoBrowser is the error if no browser is installed.
var errNoBrowser = errors.New("the HTML report was not opened in a browser: neither Chromium nor Chrome is installed")

func start() (context.Context, error) {
	i := slices.IndexFunc(names, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if i < 0 {
		return nil, errNoBrowser
	}
	// A container has no sandbox for the browser, and the pages are those of this test.
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(names[i]),
		chromedp.NoSandbox)
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	return ctx, chromedp.Do(ctx)
}

// TestMain closes the browser after the tests.
func TestMain(m *testing.M) {
	status := m.Run()
	if ctx, err := shared(); err == nil {
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "closing the browser:", err)
		}
	}
	os.Exit(status)
}

// tab is one tab of the browser, with what happened in it.
type tab struct {
	t        *testing.T
	ctx      context.Context
	url      string
	mu       sync.Mutex
	problems []string
	requests []string
}

// open writes a report to a file and opens it in a new tab, after the actions before.
func open(t *testing.T, a *report.Audit, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteHTML(&b, a); err != nil {
		t.Fatal(err)
	}
	return openDocument(t, b.Bytes(), before...)
}

func openDocument(t *testing.T, document []byte, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	browser, err := shared()
	if errors.Is(err, errNoBrowser) {
		t.Skip(err) // a machine without a browser; the error says so in one line
	}
	if err != nil {
		t.Fatalf("starting the browser: %v", err)
	}
	file := filepath.Join(t.TempDir(), "audit.html")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	x := &tab{t: t, ctx: ctx, url: "file://" + file}
	if err := chromedp.Listen(ctx, x.happened); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{audits.Enable, log.Enable} {
		if _, err := chromedp.Call(ctx, enable, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	x.do(before...)
	x.do(chromedp.Navigate(x.url))
	return x
}

// happened collects messages of the console, violations of the policy and other issues, dialogs and requests.
func (x *tab) happened(event any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		x.problems = append(x.problems, "log: "+e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		x.problems = append(x.problems, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		x.problems = append(x.problems, "exception: "+e.ExceptionDetails.Text)
	case *audits.EventIssueAdded:
		x.problems = append(x.problems, "issue: "+string(e.Issue.Code))
	case *page.EventJavascriptDialogOpening:
		x.problems = append(x.problems, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		x.requests = append(x.requests, e.Request.URL)
	}
}

// clean checks that nothing was reported and that only the file was requested.
func (x *tab) clean() {
	x.t.Helper()
	eval[bool](x, "true") // events arrive before the answer to a later command
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.problems {
		x.t.Error(p)
	}
	if !slices.Equal(x.requests, []string{x.url}) {
		x.t.Errorf("requests %q, want only %q", x.requests, x.url)
	}
}

func (x *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	if err := chromedp.Do(x.ctx, actions...); err != nil {
		x.t.Fatal(err)
	}
}

// press presses keys one after the other.
func (x *tab) press(keys string) {
	x.t.Helper()
	x.do(chromedp.KeyEvent(keys))
}

// tabTo presses the tabulator until the element with a selector has the focus.
func (x *tab) tabTo(selector string) {
	x.t.Helper()
	for range 40 {
		if eval[bool](x, "document.activeElement.matches('"+selector+"')") {
			return
		}
		x.press("\t")
	}
	x.t.Fatalf("the tabulator does not reach %s", selector)
}

// eval evaluates an expression in the page.
func eval[T any](x *tab, expression string) T {
	x.t.Helper()
	v, err := chromedp.Run(x.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		x.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// media emulates a medium ("screen", "print") and a colour scheme.
func media(medium, scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
}

// withoutScripts switches JavaScript off.
func withoutScripts() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}
