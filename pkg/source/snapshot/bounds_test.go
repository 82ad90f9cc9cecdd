// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
)

// TestManyKinds has more kinds than a cluster can have. An audit reads each kind of a snapshot separately.
func TestManyKinds(t *testing.T) {
	texts := map[string]func(i int) string{
		"objects":  func(i int) string { return obj(fmt.Sprintf("g%d.example.com/v1 K%d a/n", i, i)) },
		"versions": func(i int) string { return obj(fmt.Sprintf("example.com/v%d K a/n%d", i+1, i)) },
		"Lists":    func(i int) string { return typedList("v1", fmt.Sprintf("K%dList", i), "") },
		"definitions": func(i int) string {
			return obj(fmt.Sprintf("apiextensions.k8s.io/v1 CustomResourceDefinition k%d", i),
				fmt.Sprintf(`"spec":{"group":"example.com","names":{"kind":"K%d","plural":"k%d"},`+
					`"versions":[{"name":"v1","served":true}]}`, i, i))
		},
	}
	for name, text := range texts {
		const most = 2_000
		var b strings.Builder
		b.WriteString(obj(cmA) + "\n")
		for i := range most + 1_000 {
			b.WriteString(text(i) + "\n")
		}
		s, err := openWithin(t, most*files.KindCost, b.String())
		must(t, err)
		kinds, err := s.Kinds(t.Context())
		must(t, err)
		if n := len(kinds.Every()); n > most || n < most-100 {
			t.Errorf("%s: %d kinds", name, n)
		}
		if got := gapLines(describe(t, s), ""); len(got) != 1 ||
			!strings.Contains(got[0], "the snapshot needs more than the limit") {
			t.Errorf("%s: gaps %q", name, got)
		}
	}
}

// TestTotals has many files. The limit applies to all of them together.
func TestTotals(t *testing.T) {
	const mib = 1 << 20
	blank := "[" + strings.Repeat(" ", mib) + "]"
	var logs, packed, parts, documents []entry
	for i := range 40 {
		name := fmt.Sprintf("%02d", i)
		logs = append(logs, entry{name + ".json", blank})
		packed = append(packed, entry{name + ".json.gz", gz(t, blank)})
		parts = append(parts, entry{name + ".yaml", "x: " + strings.Repeat("a", 60_000) + "\n"})
		documents = append(documents, entry{name + ".json", strings.Repeat("{}\n", 1000)})
	}
	for _, tc := range []struct {
		name  string
		files []entry
		limit snapshot.Limit
	}{
		{"decompressed", packed, 10 * mib},
		{"decompressed in an archive", logs, 10 * mib},
		{"YAML", parts, 8 * mib},
		{"documents", documents, 8 * mib},
	} {
		folder := write(t, append([]entry{{"+.yaml", yml(cmA)}}, tc.files...)...)
		for form, text := range map[string]string{
			"folder": "", "zip": zipOf(t, tc.files...), "tar": tarOf(t, tc.files...),
			"tgz": gz(t, tarOf(t, tc.files...)),
		} {
			dir := folder
			if form != "folder" {
				dir = write(t, entry{"+.yaml", yml(cmA)}, entry{"x", text})
			}
			s, err := tc.limit.Open(t.Context(), []string{dir}, nil)
			must(t, err)
			got := gapLines(describe(t, s), dir)
			if !strings.Contains(strings.Join(got, "\n"), "the snapshot needs more than the limit of ") {
				t.Errorf("%s, %s: gaps %q", tc.name, form, got)
			}
		}
	}
}
