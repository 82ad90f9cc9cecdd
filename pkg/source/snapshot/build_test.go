// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
)

// unlimited is the limit of Open.
const unlimited = snapshot.Limit(files.DefaultLimit)

// entry is a file of a folder or an archive.
type entry struct{ name, text string }

// tarOf packs files. A name that ends in "/" is the name of a folder.
func tarOf(tb testing.TB, entries ...entry) string {
	tb.Helper()
	var headers []tar.Header
	for _, e := range entries {
		h := tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		headers = append(headers, h)
	}
	return tarWith(tb, headers, entries)
}

// tarWith packs files with the headers.
func tarWith(tb testing.TB, headers []tar.Header, entries []entry) string {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(entries[i].text))
		}
		must(tb, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write([]byte(entries[i].text))
			must(tb, err)
		}
	}
	must(tb, w.Close())
	return b.String()
}

func zipOf(tb testing.TB, entries ...entry) string {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.text == "" {
			h.Method = zip.Store
		}
		f, err := w.CreateHeader(h)
		must(tb, err)
		_, err = f.Write([]byte(e.text))
		must(tb, err)
	}
	must(tb, w.Close())
	return b.String()
}

func gz(tb testing.TB, s string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(s))
	must(tb, err)
	must(tb, w.Close())
	return b.String()
}

// write makes a folder of files and returns its path.
func write(tb testing.TB, entries ...entry) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, e := range entries {
		p := filepath.Join(dir, filepath.FromSlash(e.name))
		must(tb, os.MkdirAll(filepath.Dir(p), 0o755))
		must(tb, os.WriteFile(p, []byte(e.text), 0o600))
	}
	return dir
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// obj is the JSON of an object with the id "apps/v1 Deployment ns/name" or "v1 Node name", and more members.
func obj(id string, members ...string) string {
	apiVersion, kind, ref := parts(id)
	ns, name, ok := strings.Cut(ref, "/")
	if !ok {
		ns, name = "", ref
	}
	meta := fmt.Sprintf(`"name":%q`, name)
	if ns != "" {
		meta += fmt.Sprintf(`,"namespace":%q`, ns)
	}
	for _, m := range members {
		if m, ok := strings.CutPrefix(m, "metadata."); ok {
			meta += "," + m
		}
	}
	s := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s}`, apiVersion, kind, meta)
	for _, m := range members {
		if !strings.HasPrefix(m, "metadata.") {
			s += "," + m
		}
	}
	return s + "}"
}

// yml is the YAML of an object with such an id, and more lines.
func yml(id string, lines ...string) string {
	apiVersion, kind, ref := parts(id)
	ns, name, ok := strings.Cut(ref, "/")
	if !ok {
		ns, name = "", ref
	}
	s := "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n"
	if ns != "" {
		s += "  namespace: " + ns + "\n"
	}
	for _, l := range lines {
		s += l + "\n"
	}
	return s
}

func parts(id string) (apiVersion, kind, ref string) {
	f := strings.Fields(id)
	return f[0], f[1], f[2]
}

// listOf is a List in the form of kubectl, with its kind after its items.
func listOf(items ...string) string {
	return `{"apiVersion":"v1","items":[` + strings.Join(items, ",") +
		`],"kind":"List","metadata":{"resourceVersion":""}}`
}

// typedList is a List in the form of the API server.
func typedList(apiVersion, kind, meta string, items ...string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{%s},"items":[%s]}`, kind, apiVersion, meta,
		strings.Join(items, ","))
}

// open opens paths without stdin.
func open(tb testing.TB, paths ...string) *snapshot.Snapshot {
	tb.Helper()
	s, err := snapshot.Open(context.Background(), paths, nil)
	must(tb, err)
	return s
}

// openText opens a text as stdin.
func openText(tb testing.TB, text string) (*snapshot.Snapshot, error) {
	tb.Helper()
	return openWithin(tb, unlimited, text)
}

// openWithin opens a text as stdin within a limit.
func openWithin(tb testing.TB, l snapshot.Limit, text string) (*snapshot.Snapshot, error) {
	tb.Helper()
	return l.Open(context.Background(), []string{"-"}, strings.NewReader(text))
}

func describe(tb testing.TB, s *snapshot.Snapshot) source.Description {
	tb.Helper()
	d, err := s.Describe(context.Background())
	must(tb, err)
	return d
}

// contents lists all objects as "apps/v1 Deployment ns/name".
func contents(tb testing.TB, s *snapshot.Snapshot) []string {
	tb.Helper()
	kinds, err := s.Kinds(context.Background())
	must(tb, err)
	var out []string
	for _, k := range kinds.All() {
		out = append(out, listed(tb, s, source.Query{Kind: k.GroupVersionKind})...)
	}
	return out
}

// listed lists the objects that a query yields.
func listed(tb testing.TB, s *snapshot.Snapshot, q source.Query) []string {
	tb.Helper()
	var out []string
	_, err := s.List(context.Background(), q, func(o source.Object) error {
		m, err := object.ReadMeta(o.Raw)
		must(tb, err)
		apiVersion, kind := o.Kind.ToAPIVersionAndKind()
		if m.Kind != "" && (m.Kind != kind || m.APIVersion != apiVersion) {
			tb.Errorf("the object has the kind %s %s, the source %s %s", m.APIVersion, m.Kind, apiVersion, kind)
		}
		name := m.Metadata.Name
		if m.Metadata.Namespace != "" {
			name = m.Metadata.Namespace + "/" + name
		}
		out = append(out, apiVersion+" "+kind+" "+name)
		return nil
	})
	must(tb, err)
	return out
}

// covered returns the namespaces in which a kind was captured.
func covered(tb testing.TB, s *snapshot.Snapshot, kind string, namespaces ...string) []string {
	tb.Helper()
	apiVersion, k, _ := strings.Cut(kind, " ")
	c, err := s.List(context.Background(), source.Query{Kind: schema.FromAPIVersionAndKind(apiVersion, k)},
		func(source.Object) error { return nil })
	must(tb, err)
	var out []string
	for _, ns := range namespaces {
		f, ok := c.Of(ns)
		switch {
		case ok:
			out = append(out, ns)
		case f.Reason != source.NotInSnapshot || f.Detail == "":
			tb.Errorf("%s in %q: failure %+v", kind, ns, f)
		}
	}
	return out
}

// gapLines returns the gaps as lines. DIR replaces the temporary folder.
func gapLines(d source.Description, dir string) []string {
	var out []string
	for _, g := range d.Gaps {
		line := g.What + " | " + g.Reason + " | " + g.Effect
		if dir != "" {
			line = strings.ReplaceAll(line, dir, "DIR")
		}
		out = append(out, line)
	}
	return out
}
