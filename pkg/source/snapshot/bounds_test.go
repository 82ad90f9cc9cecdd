// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// TestManyKinds has more kinds than a cluster can have. An audit reads each kind of a snapshot separately.
func TestManyKinds(t *testing.T) {
	texts := map[string]func(i int) string{
		"objects":  func(i int) string { return obj(fmt.Sprintf("g%d.example.com/v1 K%d a/n", i, i)) },
		"versions": func(i int) string { return obj(fmt.Sprintf("example.com/v%d K a/n%d", i+1, i)) },
		"Lists":    func(i int) string { return typedList("v1", fmt.Sprintf("K%dList", i), "") },
		"definitions": func(i int) string {
			return obj(fmt.Sprintf("apiextensions.k8s.io/v1 CustomResourceDefinition k%d", i),
				fmt.Sprintf(`"spec":{"group":"example.com","names":{"kind":"K%d","plural":"k%d"},"versions":[{"name":"v1","served":true}]}`, i, i))
		},
	}
	for name, text := range texts {
		limits, most := snapshot.Limits{Objects: 100_000}, 2_000
		if name == "objects" {
			limits, most = snapshot.Limits{}, 20_000
		}
		var b strings.Builder
		b.WriteString(obj(cmA) + "\n")
		for i := range most + 1_000 {
			b.WriteString(text(i) + "\n")
		}
		s, err := openWithin(t, limits, b.String())
		must(t, err)
		kinds, err := s.Kinds(t.Context())
		must(t, err)
		if n := len(kinds.Every()); n > most || n < most-10 {
			t.Errorf("%s: %d kinds", name, n)
		}
		want := []string{fmt.Sprintf("standard input | the snapshot has more than %d kinds; capture fewer kinds", most) + perPath}
		if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", name, diff)
		}
		if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
			t.Errorf("%s: ConfigMaps are covered in %v", name, got)
		}
	}
}

// TestManyAliases has documents of 300 bytes. None expands to more than the limit of a document.
func TestManyAliases(t *testing.T) {
	const mib = 1 << 20
	var b strings.Builder
	for i := range 500 {
		b.WriteString(yml(fmt.Sprintf("v1 ConfigMap a/c%d", i), "a0: &a0 [l,l,l,l,l,l,l,l,l,l]"))
		for j := 1; j < 5; j++ {
			fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", j, j, strings.Repeat(fmt.Sprintf("*a%d,", j-1), 9), j-1)
		}
		b.WriteString("---\n")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := openWithin(t, snapshot.Limits{Bytes: 512 * mib}, b.String())
	must(t, err)
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / mib; got > 500 {
		t.Errorf("allocated %d MiB", got)
	}
	// Each document expands to half a MiB.
	if n := len(contents(t, s)); n < 8 || n > 30 {
		t.Errorf("%d objects were read", n)
	}
	want := []string{"standard input | the snapshot has more than 8 MiB of expanded YAML aliases; capture fewer kinds" + perPath}
	if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("ConfigMaps are covered in %v", got)
	}
}

// overlapping is a zip archive that lists one compressed file many times.
func overlapping(t *testing.T, times int, name, text string) string {
	t.Helper()
	var body, out bytes.Buffer
	w := zip.NewWriter(&body)
	f, err := w.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(text)),
		CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text)),
	})
	must(t, err)
	_, err = io.WriteString(f, text)
	must(t, err)
	must(t, w.Close())
	// The list of files begins with PK\1\2, and its end record with PK\5\6.
	list := bytes.Index(body.Bytes(), []byte("PK\x01\x02"))
	end := bytes.Index(body.Bytes(), []byte("PK\x05\x06"))
	row := body.Bytes()[list:end]
	out.Write(body.Bytes()[:list])
	for range times {
		out.Write(row)
	}
	tail := bytes.Clone(body.Bytes()[end:])
	size := len(row) * times
	copy(tail[8:], []byte{byte(times), byte(times >> 8), byte(times), byte(times >> 8), byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)})
	out.Write(tail)
	return out.String()
}

func TestOverlappingZip(t *testing.T) {
	dir := write(t, entry{"0.yaml", yml(node)})
	for _, times := range []int{1, 2, 30_000} {
		s, err := snapshotOf(t, dir, overlapping(t, times, "a.yaml", yml(cmA)), snapshot.Limits{})
		must(t, err)
		want, gaps := []string{node}, []string{"standard input | its files overlap, or have more compressed data than the archive has bytes" + perPath}
		if times == 1 {
			want, gaps = []string{cmA, node}, nil
		}
		if diff := cmp.Diff(want, contents(t, s)); diff != "" {
			t.Errorf("%d times: objects (-want +got):\n%s", times, diff)
		}
		if diff := cmp.Diff(gaps, gapLines(describe(t, s), dir)); diff != "" {
			t.Errorf("%d times: gaps (-want +got):\n%s", times, diff)
		}
	}
}

// TestTotals has many files. Each is within the limits of a file.
func TestTotals(t *testing.T) {
	const mib = 1 << 20
	blank := "[" + strings.Repeat(" ", mib) + "]"
	var logs, packed, parts, documents []entry
	for i := range 40 {
		name := fmt.Sprintf("%02d", i)
		logs = append(logs, entry{name + ".json", blank})
		packed = append(packed, entry{name + ".json.gz", gz(t, blank)})
		parts = append(parts, entry{name + ".yaml", "x: [" + strings.Repeat("a,", 1000) + "]\n"})
		documents = append(documents, entry{name + ".json", strings.Repeat("{}\n", 100)})
	}
	for _, tc := range []struct {
		name   string
		files  []entry
		limits snapshot.Limits
		gap    string
	}{
		{"decompressed", packed, snapshot.Limits{Decompressed: 10 * mib, Ratio: 5000}, "the snapshot has more than 10 MiB after decompression, skipped files included; capture fewer kinds"},
		{"decompressed in an archive", logs, snapshot.Limits{Decompressed: 10 * mib, Ratio: 5000}, "the snapshot has more than 10 MiB after decompression, skipped files included; capture fewer kinds"},
		{"YAML nodes", parts, snapshot.Limits{Objects: 400}, "the snapshot has more than 20000 scalars, lists and maps of YAML; capture fewer kinds"},
		{"documents", documents, snapshot.Limits{Objects: 2_000}, "the snapshot has more than 2000 documents and items of Lists; capture fewer kinds"},
	} {
		folder := write(t, append([]entry{{"+.yaml", yml(cmA)}}, tc.files...)...)
		for form, text := range map[string]string{"folder": "", "zip": zipOf(t, tc.files...), "tar": tarOf(t, tc.files...), "tgz": gz(t, tarOf(t, tc.files...))} {
			if (form == "folder" || form == "tar") && tc.name == "decompressed in an archive" { // nothing is compressed
				continue
			}
			dir := folder
			if form != "folder" {
				dir = write(t, entry{"+.yaml", yml(cmA)}, entry{"x", text})
			}
			s, err := tc.limits.Open(t.Context(), []string{dir}, nil)
			must(t, err)
			got := gapLines(describe(t, s), dir)
			if !strings.Contains(strings.Join(got, "\n"), tc.gap+perPath) || len(got) > 3 {
				t.Errorf("%s, %s: gaps %q", tc.name, form, got)
			}
			if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
				t.Errorf("%s, %s: ConfigMaps are covered in %v", tc.name, form, got)
			}
		}
	}
}

// TestTotalRatio has many streams. Each is too small for the ratio of a stream.
func TestTotalRatio(t *testing.T) {
	one := gz(t, "["+strings.Repeat(" ", 15<<20)+"]")
	files := []entry{{"+.yaml", yml(cmA)}}
	for i := range 20 {
		files = append(files, entry{fmt.Sprintf("%02d.json.gz", i), one})
	}
	dir := write(t, files...)
	s := open(t, dir)
	want := "DIR | the snapshot decompresses to more than 250 times its size" + perPath
	if got := gapLines(describe(t, s), dir); len(got) == 0 || got[0] != want {
		t.Errorf("gaps %q, want %q", got, want)
	}
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("ConfigMaps are covered in %v", got)
	}
}

// TestRatioInTar has a tar archive of compressed files, to which the total ratio applies.
func TestRatioInTar(t *testing.T) {
	var seed [32]byte
	noise := make([]byte, 128<<10)
	_, err := rand.NewChaCha8(seed).Read(noise)
	must(t, err)
	one := gz(t, "["+strings.Repeat(" ", 15<<20)+"]"+string(noise))
	files := []entry{{"+.yaml", yml(cmA)}}
	for i := range 18 {
		files = append(files, entry{fmt.Sprintf("%02d.txt.gz", i), one})
	}
	s, err := openText(t, tarOf(t, files...))
	must(t, err)
	if got := gapLines(describe(t, s), ""); len(got) != 1 || !strings.HasPrefix(got[0], "18 files in standard input, the first being 00.txt.gz, ") {
		t.Errorf("gaps %q", got)
	}
	if diff := cmp.Diff([]string{"a"}, covered(t, s, "v1 ConfigMap", "a")); diff != "" {
		t.Errorf("ConfigMaps (-want +got):\n%s", diff)
	}
}

// TestLimitAfterItems reaches a limit after the items of a List: the items are kept, and prove nothing.
func TestLimitAfterItems(t *testing.T) {
	text := "apiVersion: v1\nitems:\n- " + obj(cmA) + "\nkind: List\nx: [" + strings.Repeat("a,", 3_000) + "]\n"
	s, err := openWithin(t, snapshot.Limits{Objects: 50}, text)
	must(t, err)
	if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	want := []string{"standard input | the snapshot has more than 2500 scalars, lists and maps of YAML; capture fewer kinds" + perPath}
	if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("ConfigMaps are covered in %v", got)
	}
}

// TestLimitInItems reaches the limit of kinds in the items of a YAML List: the items before it are kept once.
func TestLimitInItems(t *testing.T) {
	text := "apiVersion: v1\nitems:\n- " + obj(cmA) + "\n- " + obj("v1 Secret a/s") + "\nkind: List\n"
	s, err := openWithin(t, snapshot.Limits{Objects: 10}, text)
	must(t, err)
	if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if notes := describe(t, s).Notes; len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}
