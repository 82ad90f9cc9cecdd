// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"bytes"
	_ "embed"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// shown counts the problems that are shown, and matching the findings that no filter hides.
const (
	shown    = "[...document.querySelectorAll('details.problem')].filter((d) => d.checkVisibility()).length"
	matching = "document.querySelectorAll('.finding:not([hidden])').length"
)

// problems is the number of problems of a report.
func problems(a *report.Audit) int { return len(digest.AllProblems(a)) }

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
		if err := export.WriteHTML(&out, reports.Full()); err != nil {
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
		if n := eval[int](x, shown); n != problems(a) {
			t.Errorf("%s: %d problems are shown, want %d", name, n, problems(a))
		}
		if n := eval[int](x, matching); n != len(a.Findings) {
			t.Errorf("%s: the document has %d findings, want %d", name, n, len(a.Findings))
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
			t.Errorf("%s: %d problems are shown, want %d", after, n, want)
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
	count("show all", 5)
	x.tabTo("#collapse")
	x.press("\r")
	x.tabTo(".problem summary")
	x.press("\r")
	if n := eval[int](x, "document.querySelectorAll('details.problem[open]').length"); n != 1 {
		t.Errorf("%d problems are open, want 1", n)
	}
	x.tabTo("#text") // back, past the end of the page
	x.press("größe PAGE.html")
	count("text in two parts of a finding", 2)
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

// unfold opens everything that is folded.
const unfold = "document.querySelectorAll('details').forEach((d) => { d.open = true; }), true"

// TestContrast checks the contrast of every text with its background.
func TestContrast(t *testing.T) {
	for _, a := range []*report.Audit{reports.Full(), reports.Fleet(4, 12, 2)} {
		for _, scheme := range []string{"light", "dark"} {
			x := open(t, a, media("screen", scheme), chromedp.EmulateViewport(1280, 900))
			eval[bool](x, unfold)
			for _, low := range eval[[]string](x, contrast) {
				t.Errorf("%s: %s", scheme, low)
			}
		}
	}
}

// TestNarrow checks that nothing is wider than a small screen.
func TestNarrow(t *testing.T) {
	for name, a := range map[string]*report.Audit{"names": reports.Full(),
		"hostile names": reports.Hostile(reports.Full(), evil), "bundles": reports.Fleet(4, 12, 2),
		"hostile bundles": reports.Hostile(reports.Fleet(4, 12, 2), evil)} {
		x := open(t, a, chromedp.EmulateViewport(400, 800))
		eval[bool](x, unfold)
		if w := eval[int](x, "document.documentElement.scrollWidth"); w > 400 {
			t.Errorf("%s: the page is %d wide", name, w)
		}
	}
}

// TestTiles checks that a tile of a severity shows its findings and leads to them, by keyboard.
func TestTiles(t *testing.T) {
	x := open(t, reports.Full())
	x.tabTo(".tile.warning a")
	x.press("\r")
	if n, at := eval[int](x, shown), eval[string](x, "location.hash"); n != 2 || at != "#problems" {
		t.Errorf("%d problems are shown at %q, want 2 warnings", n, at)
	}
	x.clean()
}

// TestWithoutScripts checks that problems open, and tiles lead to their section, without JavaScript.
func TestWithoutScripts(t *testing.T) {
	a := reports.Many(100)
	x := open(t, a, withoutScripts())
	if n := eval[int](x, shown); n != problems(a) {
		t.Errorf("%d problems are shown, want %d", n, problems(a))
	}
	x.tabTo(".tile.error a")
	x.press("\r")
	if at := eval[string](x, "location.hash"); at != "#problems" {
		t.Errorf("the tile leads to %q", at)
	}
	x.tabTo(".problem summary")
	x.press("\r")
	if n := eval[int](x, "document.querySelectorAll('details.problem[open]').length"); n != 1 {
		t.Errorf("%d problems are open, want 1", n)
	}
	if n := eval[int](x, "[...document.querySelectorAll('button, input, select')].filter((e) => "+
		"e.checkVisibility()).length"); n != 0 {
		t.Errorf("%d controls without function are shown", n)
	}
	x.clean()
}

func TestPrint(t *testing.T) {
	x := open(t, reports.Full(), media("screen", "dark"))
	const hidden = "[...document.querySelectorAll('.finding, .objects li')].filter((e) => !e.checkVisibility()).length"
	before := eval[int](x, hidden)
	pdf, err := chromedp.Run(x.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Error("the result of printing is no PDF")
	}
	screen := eval[string](x, background)
	x.do(media("print", "dark"))
	if n := eval[int](x, hidden); n != 0 || before == 0 {
		t.Errorf("%d of %d parts are not printed", n, before)
	}
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
	if eval[bool](x, target+".checkVisibility()") {
		t.Error("the findings are not folded")
	}
	eval[bool](x, "(document.getElementById('text').value = 'theme-00001', "+
		"document.getElementById('filters').dispatchEvent(new Event('input')))")
	if n := eval[int](x, shown); n != 1 {
		t.Errorf("%d problems are shown, want 1", n)
	}
	x.do(chromedp.Navigate(x.url + "#FD101-77"))
	if !eval[bool](x, target+".checkVisibility()") {
		t.Error("the finding is not open")
	}
}

// TestMany opens 5,000 findings, and 300 bundles on 50 clusters, and checks the filter and the memory of the page.
func TestMany(t *testing.T) {
	for _, c := range []struct {
		name, text      string
		report          *report.Audit
		problems, found int
	}{
		{"findings", "edge-07 theme-00", reports.Many(5000), 1, 20},
		{"bundles", "app004 edge-22", reports.Fleet(300, 50, 50), 1, 2},
	} {
		x := open(t, c.report)
		if n := eval[int](x, "document.querySelectorAll('details.problem').length"); n != problems(c.report) {
			t.Errorf("%s: %d problems, want %d", c.name, n, problems(c.report))
		}
		eval[bool](x, "(document.getElementById('text').value = '"+c.text+"', "+
			"document.getElementById('filters').dispatchEvent(new Event('input')))")
		if n, found := eval[int](x, shown), eval[int](x, matching); n != c.problems || found != c.found {
			t.Errorf("%s: %d problems with %d findings are shown after filtering, want %d with %d", c.name, n, found,
				c.problems, c.found)
		}
		if n := eval[int](x, "document.querySelectorAll('*').length"); n > 80_000 {
			t.Errorf("%s: %d elements", c.name, n)
		}
		if n := eval[int](x, "performance.memory.usedJSHeapSize"); n > 20<<20 {
			t.Errorf("%s: %d bytes of JavaScript memory", c.name, n)
		}
		x.clean()
	}
}
