// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"archive/tar"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

const perRefused = " | links, special files, archives in archives and names that lead outside an archive are not " +
	"read | what is only there is not in the snapshot"

func TestRefusedEntries(t *testing.T) {
	headers := []tar.Header{
		{Name: "../up.yaml", Typeflag: tar.TypeReg},
		{Name: "a/../../up.yaml", Typeflag: tar.TypeReg},
		{Name: "/etc/abs.yaml", Typeflag: tar.TypeReg},
		{Name: "sym.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "hard.yaml", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
		{Name: "sda", Typeflag: tar.TypeBlock},
		{Name: "fifo", Typeflag: tar.TypeFifo},
		{Name: "\x1b[2Jgood.yaml", Typeflag: tar.TypeReg},
	}
	var files []entry
	for _, h := range headers {
		files = append(files, entry{h.Name, yml("v1 ConfigMap a/" +
			strings.Trim(strings.NewReplacer("/", "-", ".", "-", "\x1b[2J", "").Replace(h.Name), "-"))})
	}
	s, err := openText(t, tarWith(t, headers, files))
	must(t, err)
	if diff := cmp.Diff([]string{"v1 ConfigMap a/good-yaml"}, contents(t, s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("%v is covered, but files were refused", got)
	}
	want := []string{"files that are not read (8): standard input: ../up.yaml (name), standard input: ../up.yaml " +
		"(name), " +
		"standard input: /etc/abs.yaml (name), …" + perRefused}
	if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}

	z := zipOf(t, entry{"../up.yaml", yml(cmB)}, entry{`a\..\..\up.yaml`, yml(cmB)}, entry{"/abs.yaml", yml(cmB)},
		entry{"good.yaml", yml(cmA)})
	s, err = openText(t, z)
	must(t, err)
	if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
		t.Errorf("objects of zip (-want +got):\n%s", diff)
	}
}

func TestFolderOfLinksAndPipes(t *testing.T) {
	outside := write(t, entry{"b.yaml", yml(cmB)})
	dir := write(t, entry{"a.yaml", yml(cmA)})
	must(t, os.Symlink(filepath.Join(outside, "b.yaml"), filepath.Join(dir, "link.yaml")))
	must(t, os.Symlink(outside, filepath.Join(dir, "linked")))
	must(t, os.Symlink(dir, filepath.Join(dir, "loop")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	s := open(t, dir)
	if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	want := []string{"files that are not read (4): DIR/link.yaml (link or special file), DIR/linked (link or special " +
		"file), " +
		"DIR/loop (link or special file), …" + perRefused}
	if diff := cmp.Diff(want, gapLines(describe(t, s), dir)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// TestInnerLinks has links to files of the same archive or folder. They lose nothing. Others may.
func TestInnerLinks(t *testing.T) {
	for name, tc := range map[string]struct {
		links           map[string]string
		archive, folder int // gaps
	}{
		"beside":             {map[string]string{"c/a.yaml": "a.json"}, 0, 0},
		"above":              {map[string]string{"c/d/a.yaml": "../a.json"}, 0, 0},
		"to nothing":         {map[string]string{"c/a.yaml": "b.json"}, 0, 1},
		"absolute":           {map[string]string{"c/a.yaml": "/c/a.json"}, 1, 1},
		"out of the archive": {map[string]string{"c/a.yaml": "../../x/c/a.json"}, 1, 1},
		"to a link":          {map[string]string{"c/a.yaml": "b.yaml", "c/b.yaml": "a.json"}, 0, 0},
		"to a folder":        {map[string]string{"c/e": "."}, 0, 1},
	} {
		list := listOf(obj(cmA))
		headers, files := []tar.Header{{Name: "c/a.json", Typeflag: tar.TypeReg}}, []entry{{"c/a.json", list}}
		dir := write(t, files...)
		for link, target := range tc.links {
			headers = append(headers, tar.Header{Name: link, Typeflag: tar.TypeSymlink, Linkname: target})
			files = append(files, entry{link, ""})
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700))
			must(t, os.Symlink(target, filepath.Join(dir, link)))
		}
		archived, err := openText(t, tarWith(t, headers, files))
		must(t, err)
		gaps := map[string]int{"archive": tc.archive, "folder": tc.folder}
		for how, s := range map[string]*snapshot.Snapshot{"archive": archived, "folder": open(t, dir)} {
			if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
				t.Errorf("%s, %s: objects (-want +got):\n%s", name, how, diff)
			}
			if got := describe(t, s).Gaps; len(got) != gaps[how] {
				t.Errorf("%s, %s: gaps %v, want %d", name, how, got, gaps[how])
			}
		}
	}
}

// allocated opens a snapshot and returns the MiB that were allocated in total, including freed memory.
func allocated(t *testing.T, dir, text string, limits snapshot.Limit) (*snapshot.Snapshot, uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := snapshotOf(t, dir, text, limits)
	runtime.ReadMemStats(&after)
	must(t, err)
	return s, (after.TotalAlloc - before.TotalAlloc) >> 20
}

// TestBounded opens hostile input, and checks the allocated memory. TestUnbounded is its counterpart.
func TestBounded(t *testing.T) {
	const tooLarge = "it is larger than the limit of one object"
	const mib = 1 << 20
	deep := func(open, leaf, end string) string {
		return strings.Repeat(open, 200_000) + leaf + strings.Repeat(end, 200_000)
	}
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i-1, i-1, i-1, i-1,
			i-1, i-1, i-1, i-1, i-1)
	}
	zeros := strings.Repeat("apiVersion:\n", 3*mib/2)
	const small = snapshot.Limit(128 * mib) // an object has at most 4 MiB, or 1 MiB of YAML with 32,768 scalars
	for _, tc := range []struct {
		name, text string
		limits     snapshot.Limit
		most       uint64 // MiB
		gap        string
	}{
		{"deep JSON objects", deep(`{"a":`, "1", "}"), small, 32, "standard input, line 1 | it is not valid JSON"},
		{"deep JSON lists", deep(`[`, "", "]"), small, 32, "it is not valid JSON"},
		{"deep in a field", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":` +
			deep(`[`, "", "]") + "}", small, 32, "it is not valid JSON"},
		{"deep YAML flow lists", "apiVersion: v1\nx: " + deep("[", "", "]"), unlimited, 32, "it is not valid YAML"},
		{"deep YAML flow lists, counted", "apiVersion: v1\nx: " + deep("[", "", "]"), small, 32, tooLarge},
		{"deep YAML flow maps", "apiVersion: v1\nx: " + deep("{a: ", "1", "}"), unlimited, 32, "it is not valid YAML"},
		{"deep YAML dashes", "apiVersion: v1\nx:\n" + deep("- ", "1", ""), unlimited, 32, "it is not valid YAML"},
		{"aliases", "apiVersion: v1\n" + laughs.String(), unlimited, 64, "it has YAML aliases"},
		{"alias of itself", "apiVersion: v1\nx: &a [*a]\n", small, 64, "it has YAML aliases"},
		{"many YAML scalars", "apiVersion: v1\nx: [" + strings.Repeat("a,", 400_000) + "a]\n", small, 32, tooLarge},
		{"long YAML line", "apiVersion: v1\nx: " + strings.Repeat("a", 30*mib), small, 32, "line 2 | " + tooLarge},
		{"long YAML document", "apiVersion: v1\n" + strings.Repeat("# comment\n", 3*mib), small, 32, tooLarge},
		{"long JSON string", `{"apiVersion":"` + strings.Repeat("a", 30*mib) + `"}`, small, 64, "line 1 | " + tooLarge},
		{"long JSON document", "{" + strings.Repeat(`"a":"`+strings.Repeat("a", mib)+`",`, 20) + `"b":1}`, small, 64,
			""},
		{"many lines", obj(cmA) + strings.Repeat("\n", 4*mib) + "{]", unlimited, 96,
			"standard input, line 4194305 (document 2) | it is not valid JSON"},
		{"many objects", strings.Repeat(obj("v1 ConfigMap a/b"), 5000), mib, 32,
			"the snapshot needs more than the limit of 1 MiB"},
		{"many Lists", strings.Repeat(listOf(), 5000), mib, 32, "the snapshot needs more than the limit of 1 MiB"},
		{"many items", listOf(strings.Repeat(`{},`, 5000) + `{}`), mib, 32,
			"the snapshot needs more than the limit of 1 MiB"},
		{"many YAML items", "apiVersion: v1\nitems:\n" + strings.Repeat("- {}\n", 5000), mib, 32,
			"the snapshot needs more than the limit of 1 MiB"},
		{"gzip bomb", gz(t, zeros), 4 * mib, 32, "standard input, line 2731 | " + tooLarge},
		{"bomb in an archive", tarOf(t, entry{"a.yaml.gz", gz(t, zeros)}, entry{"b.yaml", yml(cmA)}), 4 * mib, 64,
			"standard input: a.yaml.gz, line "},
		{"tar bomb", gz(t, tarOf(t, entry{"zeros.yaml", zeros})), 4 * mib, 64, "standard input: zeros.yaml, line "},
		{"skipped bomb", gz(t, tarOf(t, entry{"zeros.log", zeros})), 4 * mib, 64,
			"standard input, after zeros.log | the snapshot needs more than the limit of 4 MiB"},
		{"zip bomb", zipOf(t, entry{"zeros.yaml", zeros}), 4 * mib, 64, "standard input: zeros.yaml, line "},
		{"gzip in gzip", gz(t, gz(t, zeros)), unlimited, 64, ""},
		{"zip from a stream", zipOf(t, entry{"a.txt", noise(t, mib)}), mib, 32,
			"the snapshot needs more than the limit of 1 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := write(t, entry{"0.yaml", yml("v1 ConfigMap z/z")})
			s, cost := allocated(t, dir, tc.text, tc.limits)
			if cost > tc.most {
				t.Errorf("allocated %d MiB, want at most %d", cost, tc.most)
			}
			got := strings.Join(gapLines(describe(t, s), dir), "\n")
			if !strings.Contains(got, tc.gap) || len(got) > 10_000 {
				t.Errorf("gaps:\n%.10000s\nwant one with %q", got, tc.gap)
			}
		})
	}
}

// TestUnbounded opens documents of TestBounded with larger limits. They allocate more than TestBounded allows. This
// proves that the limits save memory and that the measurement works.
func TestUnbounded(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		more uint64 // MiB
	}{
		"long JSON string":   {`{"apiVersion":"` + strings.Repeat("a", 30<<20) + `"}`, 64},
		"long YAML document": {"apiVersion: v1\n" + strings.Repeat("# comment\n", 3<<20), 32},
		"many YAML scalars":  {"apiVersion: v1\nx: [" + strings.Repeat("a,", 400_000) + "a]\n", 32},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, entry{"0.yaml", yml("v1 ConfigMap z/z")})
			if _, cost := allocated(t, dir, tc.text, unlimited); cost <= tc.more {
				t.Errorf("allocated %d MiB, want more than %d", cost, tc.more)
			}
		})
	}
}

func TestManyFiles(t *testing.T) {
	var files []entry
	for i := range 30 {
		files = append(files, entry{fmt.Sprintf("%02d.yaml", i), yml(fmt.Sprintf("v1 ConfigMap a/c%02d", i))})
	}
	for name, text := range map[string]string{"tar": tarOf(t, files...), "zip": zipOf(t, files...), "folder": ""} {
		dir := write(t, files...)
		if name != "folder" {
			dir = filepath.Join(write(t, entry{"x." + name, text}), "x."+name)
		}
		s, err := snapshot.Limit(256<<10).Open(t.Context(), []string{dir}, nil)
		must(t, err)
		if got := len(contents(t, s)); got < 5 || got > 29 {
			t.Errorf("%s: %d objects", name, got)
		}
		if got := gapLines(describe(t, s), dir); len(got) == 0 ||
			!strings.Contains(got[0], "more than the limit of 256 KiB") {
			t.Errorf("%s: gaps %q", name, got)
		}
	}
	// The limit of the list of files does not apply to the files.
	text := base64.StdEncoding.EncodeToString([]byte(noise(t, 2<<20)))
	large := write(t, entry{"x.zip", zipOf(t, entry{"a.json", obj(cmA, `"x":"`+text+`"`)})})
	whole, err := snapshot.Limit(120<<20).Open(t.Context(), []string{large}, nil)
	must(t, err)
	if diff := cmp.Diff([]string{cmA}, contents(t, whole)); diff != "" {
		t.Errorf("a large file in a zip (-want +got):\n%s", diff)
	}
	// A list of files above the limit is not read.
	var many []entry
	for i := range 12_000 {
		many = append(many, entry{fmt.Sprintf("%060d", i), ""})
	}
	dir := write(t, entry{"x.zip", zipOf(t, many...)}, entry{"a.yaml", yml(cmA)})
	s, err := snapshot.Limit(16<<20).Open(t.Context(), []string{dir}, nil)
	must(t, err)
	if got := gapLines(describe(t, s), dir); len(got) != 1 ||
		!strings.HasPrefix(got[0], "DIR/x.zip | it is larger than") {
		t.Errorf("gaps: %q", got)
	}
}

// noise is data that cannot be compressed.
func noise(tb testing.TB, n int) string {
	tb.Helper()
	var seed [32]byte
	out := make([]byte, n)
	_, err := rand.NewChaCha8(seed).Read(out)
	must(tb, err)
	return string(out)
}

// snapshotOf opens a folder and a text together.
func snapshotOf(tb testing.TB, dir, text string, limits snapshot.Limit) (*snapshot.Snapshot, error) {
	tb.Helper()
	return limits.Open(tb.Context(), []string{dir, "-"}, struct{ io.Reader }{strings.NewReader(text)})
}

// TestLimitKeeps reads until a limit is reached: the objects that were read are kept, and prove nothing.
func TestLimitKeeps(t *testing.T) {
	var items []string
	yamlItems := "apiVersion: v1\nitems:\n"
	for i := range 1000 {
		o := obj(fmt.Sprintf("v1 ConfigMap ns%d/c%03d", i%2, i))
		items = append(items, o)
		yamlItems += "- " + o + "\n"
	}
	for name, text := range map[string]string{"JSON": listOf(items...), "YAML": yamlItems + "kind: List\n",
		"gzip": gz(t, listOf(items...))} {
		s, err := openWithin(t, 512<<10, text)
		must(t, err)
		if n := len(contents(t, s)); n < 400 || n > 950 {
			t.Errorf("%s: %d objects kept", name, n)
		}
		if got := covered(t, s, "v1 ConfigMap", "ns0", "ns1"); len(got) > 0 {
			t.Errorf("%s: %v is covered", name, got)
		}
		got := gapLines(describe(t, s), "")
		if len(got) != 1 || !strings.Contains(got[0], "| the snapshot needs more than the limit of 512 KiB; ") {
			t.Errorf("%s: gaps %q", name, got)
		}
	}
}
