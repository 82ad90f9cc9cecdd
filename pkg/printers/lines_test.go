// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestLines checks that lines are wrapped by their width on a terminal: characters of East Asia have two columns,
// combining characters none.
func TestLines(t *testing.T) {
	for name, tc := range map[string]struct {
		word    string
		columns int
	}{
		"latin": {"letters", 7}, "wide": {"文字列", 6}, "combining": {"e\u0301e\u0301e\u0301", 3},
	} {
		word := tc.word
		got := renderer{columns: width}.wrapped(wordsOf(strings.Repeat(word+" ", 100)), 17, 10)
		if strings.Join(got, " ") != strings.TrimSpace(strings.Repeat(word+" ", 100)) {
			t.Errorf("%s: words were lost: %q", name, got)
		}
		for i, line := range got[:len(got)-1] { // the last line may have any length
			at := 10
			if i == 0 {
				at = 17
			}
			end := at + twwidth.WidthWithOptions(line, twwidth.Options{})
			if next := end + 1 + tc.columns; end > width || next <= width {
				t.Errorf("%s: line %d ends at column %d of %d, with the next word at %d", name, i, end, width, next)
			}
		}
	}
}

// TestShort checks that the middle of a long name is removed: names that Fleet makes differ at the end.
func TestShort(t *testing.T) {
	for in, want := range map[string]string{"12345": "12345", "123456": "12…56", "文字列": "文…列", "文字": "文字",
		"aaaae\u0301": "aaaae\u0301", "aaaaae\u0301": "aa…ae\u0301"} {
		if got := short(in, 5); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if first, second := short("monitoring-rancher-monitoring", 23), short("monitoring-rancher-monitoring-crd",
		23); first == second {
		t.Errorf("two names are both shown as %s", first)
	}
}

// TestSentence checks that the first letter is a character, not a byte.
func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"": "", "a b": "A b", "größe": "Größe", "ärger": "Ärger", "店": "店",
		"1st": "1st"} {
		if got := sentence(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestFontOfEastAsia checks that a locale of East Asia does not change a table, although its fonts draw some characters
// twice as wide: the same report gives the same bytes.
func TestFontOfEastAsia(t *testing.T) {
	show := func() string {
		var b bytes.Buffer
		a := &report.Audit{BundleDeployments: []report.BundleDeployment{{Name: strings.Repeat("long-", 10)},
			{Name: "short"}}}
		l := &layout{}
		deployments(l, a)
		b.WriteString(l.renderer().document(l.sections))
		return b.String()
	}
	without := show()
	before := twwidth.IsEastAsian()
	defer twwidth.SetEastAsian(before)
	twwidth.SetEastAsian(true) // as tablewriter does if LANG is ja_JP
	if with := show(); with != without {
		t.Errorf("without the locale:\n%s\nwith the locale:\n%s", without, with)
	}
}
