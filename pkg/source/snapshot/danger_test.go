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

const perRefused = " | they are not used; only whole Lists prove that an object is missing"

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
		files = append(files, entry{h.Name, yml("v1 ConfigMap a/" + strings.Trim(strings.NewReplacer("/", "-", ".", "-", "\x1b[2J", "").Replace(h.Name), "-"))})
	}
	s, err := openText(t, tarWith(t, headers, files))
	must(t, err)
	if diff := cmp.Diff([]string{"v1 ConfigMap a/good-yaml"}, contents(t, s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("%v is covered, but files were refused", got)
	}
	want := []string{
		"2 links in standard input: sym.yaml, hard.yaml | links are not followed" + perRefused,
		"3 special files in standard input: null, sda, fifo | only regular files are read" + perRefused,
		"3 files in standard input: ../up.yaml, a/../../up.yaml, /etc/abs.yaml | a name that leads outside the archive is not read" + perRefused,
	}
	if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}

	z := zipOf(t, entry{"../up.yaml", yml(cmB)}, entry{`a\..\..\up.yaml`, yml(cmB)}, entry{"/abs.yaml", yml(cmB)}, entry{"good.yaml", yml(cmA)})
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
	want := []string{
		"3 links in DIR: link.yaml, linked, loop | links are not followed" + perRefused,
		"1 special file in DIR: pipe.yaml | only regular files are read" + strings.Replace(perRefused, "they are", "it is", 1),
	}
	if diff := cmp.Diff(want, gapLines(describe(t, s), dir)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("%v is covered, but a link was not followed", got)
	}
}

// TestInnerLinks has links to files of the same archive or folder. They lose nothing. Others may.
func TestInnerLinks(t *testing.T) {
	for name, tc := range map[string]struct {
		links map[string]string
		gaps  int
	}{
		"beside":             {map[string]string{"c/a.yaml": "a.json"}, 0},
		"above":              {map[string]string{"c/d/a.yaml": "../a.json"}, 0},
		"to nothing":         {map[string]string{"c/a.yaml": "b.json"}, 1},
		"absolute":           {map[string]string{"c/a.yaml": "/c/a.json"}, 1},
		"out of the archive": {map[string]string{"c/a.yaml": "../../x/c/a.json"}, 1},
		"to a link":          {map[string]string{"c/a.yaml": "b.yaml", "c/b.yaml": "a.json"}, 1},
		"to a folder":        {map[string]string{"c/e": "."}, 1},
	} {
		headers, files := []tar.Header{{Name: "c/a.json", Typeflag: tar.TypeReg}}, []entry{{"c/a.json", obj(cmA)}}
		dir := write(t, files...)
		for link, target := range tc.links {
			headers, files = append(headers, tar.Header{Name: link, Typeflag: tar.TypeSymlink, Linkname: target}), append(files, entry{link, ""})
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700))
			must(t, os.Symlink(target, filepath.Join(dir, link)))
		}
		archived, err := openText(t, tarWith(t, headers, files))
		must(t, err)
		for how, s := range map[string]*snapshot.Snapshot{"archive": archived, "folder": open(t, dir)} {
			if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
				t.Errorf("%s, %s: objects (-want +got):\n%s", name, how, diff)
			}
			if got := describe(t, s).Gaps; len(got) != tc.gaps {
				t.Errorf("%s, %s: gaps %v, want %d", name, how, got, tc.gaps)
			}
			if got := covered(t, s, "v1 ConfigMap", "a"); (len(got) > 0) != (tc.gaps == 0) {
				t.Errorf("%s, %s: ConfigMaps are covered in %v", name, how, got)
			}
		}
	}
}

// allocated opens a snapshot and returns the MiB that were allocated in total, including freed memory.
func allocated(t *testing.T, dir, text string, limits snapshot.Limits) (*snapshot.Snapshot, uint64) {
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
	const mib = 1 << 20
	deep := func(open, leaf, end string) string {
		return strings.Repeat(open, 200_000) + leaf + strings.Repeat(end, 200_000)
	}
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	zeros := strings.Repeat("apiVersion:\n", 3*mib/2)
	small := snapshot.Limits{Object: 4 * mib, Bytes: 32 * mib} // of YAML: 1 MiB, 32,768 scalars, aliases to 512 KiB
	large := snapshot.Limits{Object: 4 * mib}
	for _, tc := range []struct {
		name, text string
		limits     snapshot.Limits
		most       uint64 // MiB
		gap        string
	}{
		{"deep JSON objects", deep(`{"a":`, "1", "}"), small, 32, "line 1, column 50001 | it is not valid JSON"},
		{"deep JSON lists", deep(`[`, "", "]"), small, 32, "it is not valid JSON"},
		{"deep in a field", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":` + deep(`[`, "", "]") + "}", small, 32, "it is not valid JSON"},
		{"deep YAML flow lists", "apiVersion: v1\nx: " + deep("[", "", "]"), snapshot.Limits{}, 32, "it is not valid YAML"},
		{"deep YAML flow lists, counted", "apiVersion: v1\nx: " + deep("[", "", "]"), small, 32, "it has more than 32768 scalars, lists and maps"},
		{"deep YAML flow maps", "apiVersion: v1\nx: " + deep("{a: ", "1", "}"), snapshot.Limits{}, 32, "it is not valid YAML"},
		{"deep YAML dashes", "apiVersion: v1\nx:\n" + deep("- ", "1", ""), snapshot.Limits{}, 32, "it is not valid YAML"},
		{"nearly too deep YAML", yml(cmA, "x: "+strings.Repeat("[", 9_899)+strings.Repeat("]", 9_899)) + "---\n" + yml(cmB, "x: "+strings.Repeat("[", 9_900)+strings.Repeat("]", 9_900)), snapshot.Limits{}, 32, "(document 2) | it is nested deeper than 9900 levels"},
		{"aliases", "apiVersion: v1\n" + laughs.String(), large, 64, "it is larger than the limit"},
		{"aliases in each of many documents", strings.Repeat("apiVersion: v1\nx: &x ["+strings.Repeat("aaaaaaaa,", 1000)+"]\ny: ["+strings.Repeat("*x,", 300)+"]\n---\n", 40), small, 64, "the snapshot has more than 512 KiB of expanded YAML aliases"},
		{"too many aliases in each of many documents", strings.Repeat("apiVersion: v1\n"+laughs.String()+"---\n", 40), small, 64, "the snapshot has more than 512 KiB of expanded YAML aliases"},
		{"alias of itself", "apiVersion: v1\nx: &a [*a]\n", small, 64, "it is nested deeper than 9900 levels"},
		{"aliases of nothing", "apiVersion: v1\n" + strings.ReplaceAll(laughs.String(), "lol,", ""), large, 64, "it is larger than the limit"},
		{"many YAML scalars", "apiVersion: v1\nx: [" + strings.Repeat("a,", 400_000) + "a]\n", small, 32, "it has more than 32768 scalars, lists and maps"},
		{"long YAML line", "apiVersion: v1\nx: " + strings.Repeat("a", 30*mib), small, 32, "it is larger than the limit"},
		{"long YAML document", "apiVersion: v1\n" + strings.Repeat("# comment\n", 3*mib), small, 32, "it is larger than the limit"},
		{"long JSON string", `{"apiVersion":"` + strings.Repeat("a", 30*mib) + `"}`, small, 64, "it is larger than the limit"},
		{"long JSON document between items", "{" + strings.Repeat(`"items":[1],"a":"`+strings.Repeat("a", mib)+`",`, 20) + `"b":1}`, small, 64, "it is larger than the limit"},
		{"many lines", obj(cmA) + strings.Repeat("\n", 4*mib) + "{]", snapshot.Limits{}, 96, "standard input, line 4194305, column 2 (document 2) | it is not valid JSON"},
		{"bomb in an archive", tarOf(t, entry{"a.yaml.gz", gz(t, zeros)}, entry{"b.yaml", yml(cmA)}), snapshot.Limits{}, 128, "standard input: a.yaml.gz | it decompresses to more than 250 times its size"},
		{"many objects", strings.Repeat(obj("v1 ConfigMap a/b"), 1000), snapshot.Limits{Objects: 100}, 32, "the snapshot has more than 100 documents and items of Lists"},
		{"many Lists", strings.Repeat(listOf(), 1000), snapshot.Limits{Objects: 100}, 32, "the snapshot has more than 100 documents and items of Lists"},
		{"many items", listOf(strings.Repeat(`{},`, 1000) + `{}`), snapshot.Limits{Objects: 100}, 32, "the snapshot has more than 100 documents and items of Lists"},
		{"many YAML items", "apiVersion: v1\nitems:\n" + strings.Repeat("- {}\n", 1000), snapshot.Limits{Objects: 100}, 32, "the snapshot has more than 100 documents and items of Lists"},
		{"many bytes", strings.Repeat(obj("v1 ConfigMap a/b")+"\n", 1000), snapshot.Limits{Bytes: 10 << 10}, 32, "the snapshot has more than 10 KiB of documents"},
		{"gzip bomb", gz(t, zeros), snapshot.Limits{}, 128, "it decompresses to more than 250 times its size"},
		{"tar bomb", gz(t, tarOf(t, entry{"zeros.yaml", zeros})), snapshot.Limits{}, 128, "it decompresses to more than 250 times its size"},
		{"skipped bomb", gz(t, tarOf(t, entry{"zeros.log", zeros})), snapshot.Limits{}, 128, "it decompresses to more than 250 times its size"},
		{"zip bomb", zipOf(t, entry{"zeros.yaml", zeros}), snapshot.Limits{}, 128, "it decompresses to more than 250 times its size"},
		{"gzip in gzip", gz(t, gz(t, zeros)), snapshot.Limits{}, 64, "standard input | no Kubernetes objects were found"},
		{"long stream", gz(t, tarOf(t, entry{"x.log", zeros}, entry{"y.yaml", yml(cmA)})), snapshot.Limits{Decompressed: 10 * mib, Ratio: 5000}, 64, "the snapshot has more than 10 MiB after decompression"},
		{"zip from a stream", zipOf(t, entry{"a.yaml", yml(cmA)}), snapshot.Limits{Bytes: 256}, 32, "a zip archive from a pipe may have at most 64 bytes"},
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

// TestUnbounded opens documents of TestBounded with larger limits. They allocate more than TestBounded allows. This proves that the limits
// save memory and that the measurement works.
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
			if _, cost := allocated(t, dir, tc.text, snapshot.Limits{}); cost <= tc.more {
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
		s, err := snapshot.Limits{Objects: 50}.Open(t.Context(), []string{dir}, nil)
		must(t, err)
		if got := len(contents(t, s)); got != 10 {
			t.Errorf("%s: %d objects", name, got)
		}
		want := []string{"DIR | it has more than 10 files" + perPath}
		if diff := cmp.Diff(want, gapLines(describe(t, s), dir)); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", name, diff)
		}
		if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
			t.Errorf("%s: %v is covered", name, got)
		}
	}
	// The limit of the list of files does not apply to the files.
	var seed [32]byte
	noise := make([]byte, 2<<20)
	_, err := rand.NewChaCha8(seed).Read(noise)
	must(t, err)
	large := write(t, entry{"x.zip", zipOf(t, entry{"a.yaml", yml(cmA, "x: "+base64.StdEncoding.EncodeToString(noise))})})
	whole, err := snapshot.Limits{Objects: 10}.Open(t.Context(), []string{large}, nil)
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
	s, err := snapshot.Limits{Objects: 50}.Open(t.Context(), []string{dir}, nil)
	must(t, err)
	if got := gapLines(describe(t, s), dir); len(got) != 1 || !strings.HasPrefix(got[0], "DIR/x.zip | it has more than 10 files") {
		t.Errorf("gaps: %q", got)
	}
}

// snapshotOf opens a folder and a text together.
func snapshotOf(tb testing.TB, dir, text string, limits snapshot.Limits) (*snapshot.Snapshot, error) {
	tb.Helper()
	return limits.Open(tb.Context(), []string{dir, "-"}, struct{ io.Reader }{strings.NewReader(text)})
}

// TestLimitKeeps reads until a limit is reached: the objects that were read are kept, and prove nothing.
func TestLimitKeeps(t *testing.T) {
	var items []string
	yamlItems := "apiVersion: v1\nitems:\n"
	for i := range 100 {
		o := obj(fmt.Sprintf("v1 ConfigMap ns%d/c%02d", i%2, i))
		items = append(items, o)
		yamlItems += "- " + o + "\n"
	}
	for name, text := range map[string]string{"JSON": listOf(items...), "YAML": yamlItems + "kind: List\n", "gzip": gz(t, listOf(items...))} {
		for limit, l := range map[string]snapshot.Limits{"objects": {Objects: 50}, "bytes": {Bytes: 4000}} {
			s, err := openWithin(t, l, text)
			must(t, err)
			if n := len(contents(t, s)); n < 40 || n > 60 {
				t.Errorf("%s, %s: %d objects kept", name, limit, n)
			}
			if got := covered(t, s, "v1 ConfigMap", "ns0", "ns1"); len(got) > 0 {
				t.Errorf("%s, %s: %v is covered", name, limit, got)
			}
			if got := gapLines(describe(t, s), ""); len(got) != 1 || !strings.HasPrefix(got[0], "standard input | the snapshot has more than ") {
				t.Errorf("%s, %s: gaps %q", name, limit, got)
			}
		}
	}
}
