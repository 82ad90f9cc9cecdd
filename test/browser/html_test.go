// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"bytes"
	_ "embed" // a function for the page
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/html"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// shown counts the findings that are shown.
const shown = "[...document.querySelectorAll('details.finding')].filter((d) => d.checkVisibility()).length"

// evil is a text that acts if it becomes markup, has a long word, and changes the direction of text.
var evil = "\"'><script>alert(1)</script></style></title><img src=x onerror=alert(1)><a " +
	"href=javascript:alert(1)>\u202e\u05d0\u05d1\u05d2\u2066" + strings.Repeat("long", 100)

//go:embed contrast.js
var contrast string

// TestViolation checks that the tests would see an image, an inline style, a handler and a script that the document
// must not have.
func TestViolation(t *testing.T) {
	for _, wrong := range []string{`<img src="x">`, `<p style="color: red">x</p>`, `<svg onload="alert(1)"></svg>`,
		`<script>alert(1)</script>`, `<link rel="stylesheet" href="https://example.com/x.css">`} {
		var out bytes.Buffer
		if err := html.Write(&out, reports.Full()); err != nil {
			t.Fatal(err)
		}
		x := openDocument(t, bytes.Replace(out.Bytes(), []byte("<main>"), []byte(wrong+"<main>"), 1))
		eval[bool](x, "true")
		x.mu.Lock()
		if len(x.problems) == 0 {
			t.Errorf("%s is not reported", wrong)
		}
		x.mu.Unlock()
	}
}

func TestSample(t *testing.T) {
	for _, name := range []string{"sick", "clean"} {
		a := reports.Sample(t, name)
		x := open(t, a)
		x.clean()
		if n := eval[int](x, shown); n != len(a.Findings) {
			t.Errorf("%s: %d findings are shown, want %d", name, n, len(a.Findings))
		}
	}
}

func TestHostile(t *testing.T) {
	x := open(t, reports.Hostile(reports.Full(), evil))
	x.clean()
	if !eval[bool](x, "document.body.textContent.includes('<script>alert(1)</script>')") {
		t.Error("the hostile text is not shown as text")
	}
	if n := eval[int](x, "document.scripts.length"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	const foreign = "'img, iframe, object, [style], [src], a[href^=javascript]'"
	if n := eval[int](x, "document.querySelectorAll("+foreign+").length"); n != 0 {
		t.Errorf("%d elements come from hostile texts", n)
	}
}

// TestKeyboard uses the filters and a finding without a mouse.
func TestKeyboard(t *testing.T) {
	a := reports.Full()
	x := open(t, a)
	count := func(after string, want int) {
		t.Helper()
		if n := eval[int](x, shown); n != want {
			t.Errorf("%s: %d findings are shown, want %d", after, n, want)
		}
		if hidden := eval[bool](x,
			"document.getElementById('shown').classList.contains('filtered')"); hidden != (want < len(a.Findings)) {
			t.Errorf("%s: the page says that findings are hidden: %v", after, hidden)
		}
	}
	x.tabTo(".skip")
	x.press("\r")
	x.tabTo("[value=error]") // the link leads past the rest of the page
	x.press(" ")
	count("without errors", 3)
	x.tabTo("#code")
	x.press("FD104")
	count("code FD104", 1)
	x.tabTo("#text")
	x.press("no such text")
	count("a text that no finding has", 0)
	x.tabTo("#clear")
	x.press("\r")
	count("show all", 4)
	x.tabTo("#collapse")
	x.press("\r")
	x.tabTo(".finding summary")
	x.press("\r")
	if n := eval[int](x, "document.querySelectorAll('details.finding[open]').length"); n != 1 {
		t.Errorf("%d findings are open, want 1", n)
	}
	x.tabTo("#text") // back, past the end of the page
	x.press("größe PAGE.html")
	count("text in two parts of a finding", 1)
	x.tabTo("#clear")
	x.press("\r")
	x.tabTo("#cluster")
	x.press("no cluster")
	count("no cluster", 1)
	if width := eval[string](x, "getComputedStyle(document.activeElement).outlineStyle"); width == "none" {
		t.Error("the focus is not visible")
	}
	x.clean()
}

const background = "getComputedStyle(document.body).backgroundColor"

func TestTheme(t *testing.T) {
	x := open(t, reports.Full(), media("screen", "light"))
	light := eval[string](x, background)
	x.do(media("screen", "dark"))
	dark := eval[string](x, background)
	if light == dark {
		t.Errorf("light and dark have the same background %s", light)
	}
	x.tabTo("#theme")
	for _, want := range []string{light, dark, dark} { // light, dark, as the system
		x.press("\r")
		if got := eval[string](x, background); got != want {
			t.Errorf("theme %s has the background %s, want %s",
				eval[string](x, "document.getElementById('theme').textContent"), got, want)
		}
	}
	x.clean()
}

// TestContrast checks the contrast of every text with its background.
func TestContrast(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		x := open(t, reports.Full(), media("screen", scheme), chromedp.EmulateViewport(1280, 900))
		for _, low := range eval[[]string](x, contrast) {
			t.Errorf("%s: %s", scheme, low)
		}
	}
}

// TestNarrow checks that nothing is wider than a small screen.
func TestNarrow(t *testing.T) {
	for name, a := range map[string]string{"names": "", "hostile names": evil} {
		x := open(t, reports.Hostile(reports.Full(), a), chromedp.EmulateViewport(400, 800))
		if w := eval[int](x, "document.documentElement.scrollWidth"); w > 400 {
			t.Errorf("%s: the page is %d wide", name, w)
		}
	}
}

func TestWithoutScripts(t *testing.T) {
	a := reports.Many(100)
	x := open(t, a, withoutScripts())
	if n := eval[int](x, shown); n != len(a.Findings) {
		t.Errorf("%d findings are shown, want %d", n, len(a.Findings))
	}
	if n := eval[int](x, "document.querySelectorAll('details:not([open])').length"); n != 0 {
		t.Errorf("%d details are closed", n)
	}
	if n := eval[int](x, "[...document.querySelectorAll('button, input, select')].filter((e) => "+
		"e.checkVisibility()).length"); n != 0 {
		t.Errorf("%d controls without function are shown", n)
	}
	x.clean()
}

func TestPrint(t *testing.T) {
	x := open(t, reports.Full(), media("screen", "dark"))
	const closed = "document.querySelectorAll('details:not([open])').length"
	before := eval[int](x, closed)
	eval[bool](x, "addEventListener('beforeprint', () => { window.closed_ = "+closed+"; }), true")
	pdf, err := chromedp.Run(x.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Error("the result of printing is no PDF")
	}
	if n := eval[int](x, "window.closed_"); n != 0 || before == 0 {
		t.Errorf("%d of %d details are closed when the page is printed", n, before)
	}
	if n := eval[int](x, closed); n != before {
		t.Errorf("%d details are closed after printing, %d before", n, before)
	}
	screen := eval[string](x, background)
	x.do(media("print", "dark"))
	if n := eval[int](x, "[...document.querySelectorAll('button, input, select')].filter((e) => "+
		"e.checkVisibility()).length"); n != 0 {
		t.Errorf("%d controls are printed", n)
	}
	if paper := eval[string](x, background); paper == screen {
		t.Errorf("the background %s of the dark theme is printed", paper)
	}
	x.clean()
}

// TestAddress checks that the address of a finding opens it, also if a filter hides it.
func TestAddress(t *testing.T) {
	x := open(t, reports.Many(100))
	const target = "document.getElementById('FD101-77')"
	if eval[bool](x, target+".open") {
		t.Error("the findings of a long report are not folded")
	}
	eval[bool](x, "(document.getElementById('text').value = 'theme-00001', "+
		"document.getElementById('filters').dispatchEvent(new Event('input')))")
	if n := eval[int](x, shown); n != 1 {
		t.Errorf("%d findings are shown, want 1", n)
	}
	x.do(chromedp.Navigate(x.url + "#FD101-77"))
	if !eval[bool](x, target+".open && "+target+".checkVisibility()") {
		t.Error("the finding is not open")
	}
}

// TestMany opens 5,000 findings, and checks the memory of the page.
func TestMany(t *testing.T) {
	a := reports.Many(5000)
	x := open(t, a)
	if n := eval[int](x, shown); n != 5000 {
		t.Errorf("%d findings are shown", n)
	}
	eval[bool](x, "(document.getElementById('text').value = 'edge-07 theme-00', "+
		"document.getElementById('filters').dispatchEvent(new Event('input')))")
	if n := eval[int](x, shown); n != 20 {
		t.Errorf("%d findings are shown after filtering, want 20", n)
	}
	if n := eval[int](x, "document.querySelectorAll('*').length"); n > 200_000 {
		t.Errorf("%d elements", n)
	}
	if n := eval[int](x, "performance.memory.usedJSHeapSize"); n > 100<<20 {
		t.Errorf("%d bytes of JavaScript memory", n)
	}
	x.clean()
}
