// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

const (
	perDocument = " | it is not used, and no List with it proves that an object is missing; capture it again"
	perFile     = " | the rest was not read; only Lists that were read completely prove that an object is missing"
)

func TestGaps(t *testing.T) {
	const only = "it has YAML that JSON does not have: merge keys, tags, or keys that are not scalars"
	badItem := "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: bad\n  data: {}\n"
	for _, tc := range []struct {
		name  string
		files []entry
		want  []string // objects
		gaps  []string
	}{
		{
			name:  "damaged YAML document",
			files: []entry{{"x.yaml", yml(cmA) + "---\n" + yml(cmB, "data:", "\tx: y") + "---\n" + yml(node)}},
			want:  []string{cmA, node},
			gaps:  []string{"DIR/x.yaml, line 7 (document 2) | it is not valid YAML, near line 13" + perDocument},
		},
		{
			name: "damaged YAML item",
			files: []entry{{"x.yaml", "apiVersion: v1\nitems:\n- " + obj(cmA) + "\n" + badItem + "- " + obj(cmB) +
				"\nkind: List\n"}},
			want: []string{cmA, cmB},
			gaps: []string{"DIR/x.yaml, line 4, item 2 | it is not valid YAML, near line 5" + perDocument},
		},
		{
			name:  "damaged YAML List after its items",
			files: []entry{{"x.yaml", "apiVersion: v1\nitems:\n- " + obj(cmA) + "\nkind: List\nmetadata: }\n"}},
			want:  []string{cmA},
			gaps:  []string{"DIR/x.yaml, line 1 | it is not valid YAML" + perDocument},
		},
		{
			name: "YAML that JSON does not have",
			files: []entry{{"x.yaml", yml(cmA) + "---\n" + yml(cmB, "data: {? [a] : b}") + "---\n" +
				yml(cmB, "data: .inf") +
				"---\n" + yml(cmB, "data: {<<: {a: b}}") + "---\n" + yml(cmB, "x: &x {a: b}", "y: *x")}},
			want: []string{cmA},
			gaps: []string{
				"DIR/x.yaml, line 7 (document 2) | " + only + ", near line 12" + perDocument,
				"DIR/x.yaml, line 14 (document 3) | " + only + ", near line 19" + perDocument,
				"DIR/x.yaml, line 21 (document 4) | " + only + ", near line 26" + perDocument,
				"DIR/x.yaml, line 28 (document 5) | it has YAML aliases, which kubectl does not write, near line 34" +
					perDocument,
			},
		},
		{
			name:  "damaged JSON line",
			files: []entry{{"x.json", obj(cmA) + "\n" + `{"apiVersion":"v1",,` + "\n" + obj(node)}},
			want:  []string{cmA},
			gaps:  []string{"DIR/x.json, line 2 (document 2) | it is not valid JSON" + perFile},
		},
		{
			name: "damaged indented JSON",
			files: []entry{{"a.json", obj(cmA)}, {"x.json",
				"{\n  \"apiVersion\": \"v1\",\n  \"kind\" \"ConfigMap\"\n}\n"}},
			want: []string{cmA},
			gaps: []string{"DIR/x.json, line 3 | it is not valid JSON" + perFile},
		},
		{
			name: "truncated JSON List",
			files: []entry{
				{"x.json", strings.TrimSuffix(listOf(obj(cmA), obj(node)),
					`],"kind":"List","metadata":{"resourceVersion":""}}`)},
				{"y.json", `{"kind":"ConfigMapList","apiVersion":"v1",` +
					`"items":[{"metadata":{"name":"two","namespace":"b"}},{"met`},
				{"z.json", `{"items":[{"metadata":{"name":"three","namespace":"b"}},{"met`},
			},
			want: []string{cmA, cmB, node},
			gaps: []string{
				"DIR/x.json, line 1 | it ends in the middle" + perFile,
				"DIR/y.json, line 1 | it ends in the middle" + perFile,
				"DIR/z.json, line 1 | it ends in the middle" + perFile,
			},
		},
		{
			name: "unnamed formats",
			files: []entry{{"notes.txt", "see:\napiVersion: v1\n]\n"}, {"log.txt", "{\"level\":\"info\"}\n{not json\n"},
				{"a.txt", "text\napiVersion: v1\n"}, {"cm", yml(cmA)}},
			want: []string{cmA},
			gaps: []string{
				"DIR/a.txt, line 1 | it is not valid YAML, near line 2" + perDocument,
				"DIR/notes.txt, line 1 | it is not valid YAML, near line 2" + perDocument,
			},
		},
		{
			name: "objects and other documents",
			files: []entry{{"x.yaml", yml(cmA) + "---\nreplicas: 1\n---\n- a\n"},
				{"y.json", obj(cmB) + "\n1\n[\"x\"]\nnull\n{}"}},
			want: []string{cmA, cmB},
		},
		{
			name:  "items that are not objects",
			files: []entry{{"x.json", listOf(obj(cmA), `{"kind":"ConfigMap"}`, "\n1")}},
			want:  []string{cmA},
			gaps: []string{
				"DIR/x.json, line 1, item 2 | it is not a Kubernetes object" + perDocument,
				"DIR/x.json, line 2, item 3 | it is not a Kubernetes object" + perDocument,
			},
		},
		{
			name: "items in flow style that are not objects",
			files: []entry{{"x.yaml", yml(cmA) + "---\napiVersion: v1\nkind: List\nitems:\n  [" + obj(cmB) +
				",\n  {}]\n"}},
			want: []string{cmA, cmB},
			gaps: []string{"DIR/x.yaml, line 7 (document 2), item 2 | it is not a Kubernetes object" + perDocument},
		},
		{
			name: "damaged List in flow style",
			files: []entry{{"x.yaml", yml(cmA) + "---\napiVersion: v1\nkind: List\nitems: [" + obj(cmB) +
				", {a: 1, a: 2}]\n"}},
			want: []string{cmA},
			gaps: []string{"DIR/x.yaml, line 7 (document 2) | it has a key twice in one map, near line 9" +
				perDocument},
		},
		{
			name: "damaged gzip",
			files: []entry{{"a.yaml", yml(cmA)}, {"x.yaml.gz", "\x1f\x8b\x00nothing"},
				{"y.yaml.gz", gz(t, strings.Repeat(yml(cmB)+"---\n", 50))[:70]}},
			want: []string{cmA},
			gaps: []string{
				"DIR/x.yaml.gz | it is damaged, or is packed in a way that is not supported" + perFile,
				"DIR/y.yaml.gz, line 4 | it ends in the middle" + perFile,
			},
		},
		{
			name:  "damaged zip",
			files: []entry{{"a.yaml", yml(cmA)}, {"x.zip", zipOf(t, entry{"b.yaml", yml(cmB)})[:100]}},
			want:  []string{cmA},
			gaps:  []string{"DIR/x.zip | it is damaged, or is packed in a way that is not supported" + perFile},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := write(t, tc.files...)
			s := open(t, dir)
			if diff := cmp.Diff(tc.want, contents(t, s)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.gaps, gapLines(describe(t, s), dir)); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTruncatedArchives cuts archives at every byte: there is a gap, or no object is missing.
func TestTruncatedArchives(t *testing.T) {
	files := []entry{{"a.yaml", yml(cmA)}, {"b.json", listOf(obj(cmB), obj(node))}, {"c.yaml", yml(depA)}}
	for name, text := range map[string]string{"x.tar": tarOf(t, files...), "x.tgz": gz(t, tarOf(t, files...)),
		"x.zip": zipOf(t, files...)} {
		step := 1
		if name == "x.tar" {
			step = 64
		}
		for n := 1; n < len(text); n += step {
			s, err := openText(t, text[:n])
			if err != nil {
				continue
			}
			got := contents(t, s)
			if len(describe(t, s).Gaps) > 0 {
				if c := covered(t, s, "apps/v1 Deployment", "a"); len(c) > 0 {
					t.Errorf("%s, first %d of %d bytes: %v is covered", name, n, len(text), c)
				}
				continue
			}
			if len(got) != 4 {
				t.Errorf("%s, first %d of %d bytes: objects %v without a gap", name, n, len(text), got)
			}
		}
	}
}

// TestTruncatedAfterDamage cuts files with damaged documents: other files are still read.
func TestTruncatedAfterDamage(t *testing.T) {
	dir := write(t, entry{"a.yaml", yml(cmA)})
	for _, text := range []string{
		obj(cmB) + "\n{]\n" + obj(node) + "\n---\n# x\n}\n" + listOf(obj(depA), "{}") +
			strings.Repeat("\n{\"a\":]\n"+obj(node), 10),
		yml(cmB) + "---\n]\n---\n" + yml(node) + "---\nitems:\n- ]\n- " + obj(depA) + "\nkind: List\n",
	} {
		packed := gz(t, text)
		for n := range packed {
			s, err := snapshotOf(t, dir, packed[:n], unlimited)
			must(t, err)
			if len(describe(t, s).Gaps) == 0 {
				t.Errorf("first %d of %d bytes: no gap", n, len(packed))
			}
		}
	}
}

func TestTarCutBetweenEntries(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Name: "a.yaml", Size: int64(len(yml(cmA)))}))
	_, err := io.WriteString(w, yml(cmA))
	must(t, err)
	must(t, w.Flush())
	s, err := openText(t, b.String())
	must(t, err)
	want := []string{"standard input, after a.yaml | it ends in the middle" + perFile}
	if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// TestFileStart has files whose format is not visible at their beginning.
func TestFileStart(t *testing.T) {
	blank := strings.Repeat("\n", 100<<10)
	for _, tc := range []struct {
		name, file, text string
		want             []string
		gaps             []string
	}{
		{"blank lines and a YAML document", "x.yaml", blank + yml(cmA), []string{cmA}, nil},
		{"markers, blank lines and a YAML document", "x.yml", "---\n" + blank + "---\n" + yml(cmA), []string{cmA}, nil},
		{"blank lines and a JSON List", "x.json", blank + listOf(obj(cmA)), []string{cmA}, nil},
		{"blank lines alone", "x.yaml", blank, nil, nil},
		{"closing braces", "x.json", strings.Repeat("}\n", 1<<20), nil,
			[]string{"DIR/x.json, line 1 | it is larger than the limit of one object" + perDocument}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := write(t, entry{tc.file, tc.text}, entry{"z.yaml", yml(node)})
			s := open(t, dir)
			if diff := cmp.Diff(append([]string{node}, tc.want...), contents(t, s),
				cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.gaps, gapLines(describe(t, s), dir)); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyDamaged(t *testing.T) {
	s, err := openText(t, yml(cmA)+strings.Repeat("---\n]\n", 300))
	must(t, err)
	got := gapLines(describe(t, s), "")
	if len(got) != 51 || got[50] != "250 more documents | they are damaged"+perDocument {
		t.Errorf("%d gaps: %q", len(got), got)
	}
}

// TestNoContent damages a Secret at every byte, in each format, and checks that no gap or error has its value.
func TestNoContent(t *testing.T) {
	const value, plain = "hunter2-not-a-real-password", "correct-horse-invented"
	good := map[string]string{".json": obj(cmA) + "\n", ".yaml": yml(cmA) + "---\n"}
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	for name, text := range map[string]string{
		"secret.json": obj("v1 Secret a/s", fmt.Sprintf(`"data":{"p":%q},"stringData":{"q":%q}`, encoded, plain)),
		"secret.yaml": yml("v1 Secret a/s", "data:", "  p: "+encoded, "stringData:", "  q: "+plain),
		"list.yaml": "apiVersion: v1\nkind: List\nitems:\n- " +
			strings.ReplaceAll(yml("v1 Secret a/s", "stringData:", "  q: "+plain), "\n", "\n  "),
	} {
		check := func(damage string, text string) {
			s, err := openText(t, good[filepath.Ext(name)]+text)
			must(t, err)
			printed := fmt.Sprintf("%+v", describe(t, s))
			for _, v := range []string{value, plain[:7], encoded[:7]} {
				if strings.Contains(printed, v) {
					t.Fatalf("%s, %s: the value is in %s", name, damage, printed)
				}
			}
			if _, err := openText(t, text); err != nil && strings.Contains(err.Error(), plain[:7]) {
				t.Fatalf("%s, %s: the value is in %v", name, damage, err)
			}
		}
		for i := range len(text) {
			check(fmt.Sprintf("cut at %d", i), text[:i])
			for _, c := range []string{"\x00", "\t", "]", "{", ":", "*", "&", "!", "\xff", "\"", "\n", "%", "@", "`"} {
				check(fmt.Sprintf("%q at %d", c, i), text[:i]+c+text[i+1:])
			}
		}
	}
}

func TestNothingReadable(t *testing.T) {
	for name, tc := range map[string]struct {
		files []entry
		want  string
	}{
		"nothing": {nil,
			"opening snapshot: nothing in DIR can be read; expected Kubernetes objects or Lists in YAML or JSON"},
		"no objects": {[]entry{{"README.md", "text"}},
			"opening snapshot: nothing in DIR can be read (files with other content than Kubernetes objects (1): " +
				"DIR/README.md); expected"},
		"only damaged": {[]entry{{"x.json", "{"}},
			"opening snapshot: nothing in DIR can be read (DIR/x.json, line 1: it ends in the middle); expected"},
		"version only": {[]entry{{"version.yaml", "gitVersion: v1.36.3\n"}},
			"opening snapshot: nothing in DIR can be read (files with other content than Kubernetes objects (1): " +
				"DIR/version.yaml); expected"},
	} {
		dir := write(t, tc.files...)
		_, err := snapshot.Open(t.Context(), []string{dir}, nil)
		if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), dir, "DIR"), tc.want) {
			t.Errorf("%s: error %v, want %s", name, err, tc.want)
		}
	}
	for name, paths := range map[string][]string{
		"no path":   nil,
		"not found": {filepath.Join(t.TempDir(), "x")},
		"no stdin":  {"-"},
		"device":    {"/dev/null"},
	} {
		if _, err := snapshot.Open(t.Context(), paths, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := snapshot.Open(t.Context(), []string{"-", "-"}, strings.NewReader(obj(cmA))); err == nil {
		t.Error("stdin twice: no error")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := write(t, entry{"a.yaml", yml(cmA)}, entry{"b.json", obj(cmB)},
		entry{"c.tgz", gz(t, tarOf(t, entry{"a.yaml", yml(cmA)}))})
	for _, name := range []string{"", "a.yaml", "b.json", "c.tgz"} {
		p := filepath.Join(dir, name)
		if _, err := snapshot.Open(ctx, []string{p}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", p, err)
		}
	}
	// Open does not wait for input of a terminal.
	silent, _ := io.Pipe()
	defer func() { must(t, silent.Close()) }()
	ctx, cancel = context.WithCancel(t.Context())
	go cancel()
	if _, err := snapshot.Open(ctx, []string{"-"}, silent); !errors.Is(err, context.Canceled) {
		t.Errorf("blocked stdin: error %v", err)
	}
}

// TestCancelledPipe cancels while Open waits for a writer of a named pipe, and while it waits for data of the writer.
func TestCancelledPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	var writer *os.File
	for _, written := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := snapshot.Open(ctx, []string{pipe}, nil)
			ended <- err
		}()
		if written {
			var err error
			writer, err = os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the pipe is open for reading too
			must(t, err)
		}
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("written %t: error %v", written, err)
			}
		case <-time.After(poll.Deadline):
			t.Fatalf("written %t: Open did not end", written)
		}
	}
	must(t, writer.Close())
}
