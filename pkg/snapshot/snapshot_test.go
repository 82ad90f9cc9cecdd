// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/layers"
)

const testdata = "../../test/testdata/"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *format.Snapshot {
	t.Helper()
	s, err := format.Open(t.Context(), []string{path}, nil)
	must(t, err)
	return s
}

// tryTake writes a snapshot to a file and returns its path; ok is false if none can be taken of the source.
func tryTake(t *testing.T, src source.Source) (path string, ok bool) {
	t.Helper()
	var out bytes.Buffer
	if _, err := snapshot.Take(t.Context(), src, &out, snapshot.Options{Version: "test",
		Pause: func(context.Context) error { return nil }}); err != nil {
		return "", false
	}
	path = filepath.Join(t.TempDir(), "snapshot.tar.gz")
	must(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path, true
}

// taken writes a snapshot to a file and returns its path and content.
func taken(t *testing.T, src source.Source) (path string, content []byte) {
	t.Helper()
	return takenWith(t, src, snapshot.Options{Version: "test"})
}

func takenWith(t *testing.T, src source.Source, o snapshot.Options) (path string, content []byte) {
	t.Helper()
	var out bytes.Buffer
	_, err := snapshot.Take(t.Context(), src, &out, o)
	must(t, err)
	path = filepath.Join(t.TempDir(), "snapshot.tar.gz")
	must(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path, out.Bytes()
}

func audited(t *testing.T, src source.Source, desired audit.Desired) *report.Audit {
	t.Helper()
	found, err := audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, Desired: desired})
	must(t, err)
	out := found.Report()
	out.Source.Path = ""
	return out
}

// values returns the values of the Secrets of a source that are not names.
func values(t *testing.T, src source.Source) []string {
	t.Helper()
	var out []string
	_, err := src.List(t.Context(), source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		FieldSelector: "type!=helm.sh/release.v1"}, func(o source.Object) error {
		var s struct {
			Data map[string][]byte `json:"data"`
		}
		err := object.Into(o.Raw, &s)
		for _, v := range s.Data {
			if len(v) >= secret.MinLength && !secret.Masked(v) {
				out = append(out, strings.TrimSpace(string(v)))
			}
		}
		return err
	})
	must(t, err)
	return out
}

// TestTakeOfCaptures takes snapshots of captured clusters: an audit of each has the same report, and none has a value
// of a Secret.
func TestTakeOfCaptures(t *testing.T) {
	searched := 0
	for _, name := range []string{"sick", "clean", "drift"} {
		t.Run(name, func(t *testing.T) {
			src := open(t, testdata+name)
			path, content := taken(t, src)
			got := open(t, path)
			if diff := cmp.Diff(reported(t, src, audit.DesiredRelease),
				reported(t, got, audit.DesiredRelease)); diff != "" {
				t.Errorf("(-capture +snapshot):\n%s", diff)
			}
			if known := rendered(t, audited(t, src, audit.DesiredBundle),
				audited(t, got, audit.DesiredBundle)); known > 0 {
				t.Errorf("%d bundles are rendered without their files", known)
			}
			secret := values(t, src)
			searched += len(secret)
			if found := layers.Find(content, secret...); len(found) > 0 {
				t.Errorf("%d values of Secrets are in the snapshot: %q", len(found), found)
			}
			path, _ = takenWith(t, src, snapshot.Options{Bundles: true})
			if rendered(t, audited(t, src, audit.DesiredBundle), audited(t, open(t, path), audit.DesiredBundle)) == 0 {
				t.Error("no bundle can be rendered with its files")
			}
		})
	}
	if searched == 0 {
		t.Error("the captured clusters have no values of Secrets")
	}
}

// rendered compares the results for rendered bundles, and returns how many are known. A bundle that cannot be rendered
// is Unknown, and never has another result.
func rendered(t *testing.T, want, got *report.Audit) (known int) {
	t.Helper()
	for i, bd := range got.BundleDeployments {
		if len(bd.Resources) == 0 {
			continue
		}
		known++
		for j, o := range bd.Resources {
			if o.State == report.Unknown { // with the values of the files, a masked one is not comparable
				continue
			}
			if diff := cmp.Diff(want.BundleDeployments[i].Resources[j], o); diff != "" {
				t.Errorf("an object of a rendered bundle (-capture +snapshot):\n%s", diff)
			}
		}
	}
	return known
}

// names returns the names of the files in an archive, and the last file.
func names(t *testing.T, content []byte) (out []string, last []byte) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(content))
	must(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, last
		}
		must(t, err)
		out = append(out, h.Name)
		last, err = io.ReadAll(r)
		must(t, err)
	}
}

// TestOrder checks that the files of a snapshot have the same order each time, and that its manifest counts them.
func TestOrder(t *testing.T) {
	_, one := taken(t, open(t, testdata+"sick"))
	_, two := taken(t, open(t, testdata+"sick"))
	first, last := names(t, one)
	second, _ := names(t, two)
	for _, files := range [][]string{first, second} {
		for i, name := range files {
			files[i] = unequal.ReplaceAllString(name, "***") // the names of Contents are keyed hashes
		}
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two snapshots (-one +two):\n%s", diff)
	}
	var m format.Manifest
	must(t, json.Unmarshal(last, &m))
	objects := 0
	for _, c := range m.Captured {
		objects += c.Objects
	}
	if objects != len(first)-1 || m.Kind != format.ManifestKind || m.Versions.Tool != "test" || m.TakenAt.IsZero() {
		t.Errorf("%d files, and the manifest %+v", len(first), m)
	}
}

// partly is a source that cannot list some kinds, and that has an object that cannot be decoded.
type partly struct{ source.Source }

// Describe implements source.Source.
func (p partly) Describe(ctx context.Context) (source.Description, error) {
	d, err := p.Source.Describe(ctx)
	d.Origin = source.OriginCluster
	return d, err
}

// List implements source.Source.
func (p partly) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	switch q.Kind.Kind {
	case "ConfigMap":
		return source.NotCovered(source.Failure{Reason: source.Forbidden, Detail: "not for this user"}), nil
	case "Service":
		if err := yield(source.Object{Item: object.Item{Raw: []byte(`{"metadata":{"name":"x"},`)},
			Kind: q.Kind}); err != nil {
			return source.Coverage{}, err
		}
	}
	return p.Source.List(ctx, q, yield)
}

// TestGaps checks that what could not be read is not missing in the snapshot.
func TestGaps(t *testing.T) {
	src := partly{open(t, testdata+"sick")}
	path, _ := taken(t, src)
	got := open(t, path)
	d, err := got.Describe(t.Context())
	must(t, err)
	if !d.Complete {
		t.Error("the snapshot of a cluster is not complete")
	}
	for kind, want := range map[string]source.Reason{"ConfigMap": source.Forbidden, "Service": source.ReadFailed,
		"Secret": ""} {
		cover, err := got.List(t.Context(), source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}},
			func(source.Object) error { return nil })
		must(t, err)
		if f, _ := cover.Of("guestbook"); f.Reason != want {
			t.Errorf("%s: %q, want %q", kind, f.Reason, want)
		}
	}
	want, result := audited(t, src, audit.DesiredRelease), audited(t, got, audit.DesiredRelease)
	if diff := cmp.Diff(want.BundleDeployments, result.BundleDeployments); diff != "" {
		t.Errorf("(-source +snapshot):\n%s", diff)
	}
}

// failing is a source whose Lists of Secrets fail, as the function states for each one.
type failing struct {
	source.Source
	lists *int
	fails func(list int) source.Reason
}

// List implements source.Source.
func (f failing) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if q.Kind.Kind == "Secret" && (q.FieldSelector == "" || q.FieldSelector == "type!=helm.sh/release.v1") {
		*f.lists++
		if reason := f.fails(*f.lists); reason != "" {
			return source.NotCovered(source.Failure{Reason: reason, Detail: "as the test wants"}), nil
		}
	}
	return f.Source.List(ctx, q, yield)
}

// TestSecretsNotRead checks that a snapshot states it if values of Secrets are not masked, and that no snapshot is
// taken if only the pass that learns the values failed.
func TestSecretsNotRead(t *testing.T) {
	take := func(fails func(int) source.Reason) (lists int, out []byte, m *format.Manifest, err error) {
		var b bytes.Buffer
		m, err = snapshot.Take(t.Context(), failing{open(t, testdata+"sick"), &lists, fails}, &b, snapshot.Options{})
		return lists, b.Bytes(), m, err
	}
	lists, _, m, err := take(func(int) source.Reason { return "" })
	must(t, err)
	if len(m.Gaps) > 0 {
		t.Errorf("all Secrets were read: %+v", m.Gaps)
	}
	_, out, _, err := take(func(list int) source.Reason {
		if list == lists-1 {
			return source.ReadFailed
		}
		return ""
	})
	if err == nil || !strings.Contains(err.Error(), "listing secrets: ReadFailed: as the test wants") {
		t.Errorf("only the pass that learns failed: %v", err)
	}
	if found := layers.Find(out, `"kind": "ConfigMap"`); len(found) > 0 {
		t.Errorf("other objects were written: %q", found)
	}
	for _, reason := range []source.Reason{source.Forbidden, source.NotInSnapshot} {
		_, out, m, err = take(func(int) source.Reason { return reason })
		must(t, err)
		if len(m.Gaps) != 1 || m.Gaps[0].Reason != string(reason) || !strings.HasSuffix(m.Gaps[0].Effect,
			"values of Secrets in them are not masked in other objects") {
			t.Errorf("%s: the gaps are %+v", reason, m.Gaps)
		}
		path := filepath.Join(t.TempDir(), "snapshot.tar.gz")
		must(t, os.WriteFile(path, out, 0o600))
		if _, err := format.Open(t.Context(), []string{path}, nil); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// full is a disk that is full after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("no space left on device")

// TestFailedWrite checks that a snapshot is not complete if it could not be written.
func TestFailedWrite(t *testing.T) {
	src := open(t, testdata+"sick")
	for _, left := range []int{0, 10_000} {
		if _, err := snapshot.Take(t.Context(), src, &full{left}, snapshot.Options{}); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

// TestTruncated checks that a truncated snapshot proves less than the whole one.
func TestTruncated(t *testing.T) {
	path, content := taken(t, open(t, testdata+"sick"))
	must(t, os.WriteFile(path, content[:len(content)*3/4], 0o600))
	d, err := open(t, path).Describe(t.Context())
	must(t, err)
	if len(d.Gaps) == 0 || d.Unmasked != nil {
		t.Errorf("%+v", d)
	}
}

// TestLookups takes a snapshot of a cluster with bundles that are not installed and whose templates look up objects:
// the snapshot has the rendered objects, in which the values of the Secret are masked.
func TestLookups(t *testing.T) {
	capture, err := cases.Read(testdata+"preflights/lookup.yaml", &map[string]any{})
	must(t, err)
	must(t, capture.Complete(nil))
	src, err := capture.Open(t.Context())
	must(t, err)
	path, content := taken(t, src)
	if found := layers.Find(content, "planted-passw0rd"); len(found) > 0 {
		t.Error("the value of the Secret is in the snapshot")
	}
	var gaps []string
	got := audited(t, open(t, path), audit.DesiredAuto)
	for _, g := range got.Gaps {
		if strings.Contains(g.Detail, "looks up") {
			gaps = append(gaps, g.Detail)
		}
	}
	if len(gaps) > 0 {
		t.Errorf("the bundles were rendered when the snapshot was taken: %q", gaps)
	}
	var paths []string
	for _, d := range got.BundleDeployments {
		for _, o := range d.Resources {
			for _, x := range o.Differences {
				paths = append(paths, o.Name+" "+x.Path)
			}
		}
	}
	if diff := cmp.Diff([]string{"address .data.new", "address .data.text", "uncertain .data.text"},
		paths); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// rotating is a cluster on which a Secret gets a new value after a number of lists of Secrets.
type rotating struct {
	source.Source
	lists *int
	after int
}

// List implements source.Source.
func (r rotating) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if q.Kind.Kind == "Secret" && q.FieldSelector == "type!=helm.sh/release.v1" {
		if *r.lists++; *r.lists > r.after {
			raw := `{"metadata":{"namespace":"apps","name":"rotated"},"data":{"a":"cGxhbnRlZC1hZnRlcg=="}}`
			if err := yield(source.Object{Item: object.Item{Raw: []byte(raw)}, Kind: q.Kind}); err != nil {
				return source.Coverage{}, err
			}
		}
	}
	return r.Source.List(ctx, q, yield)
}

// TestRotated checks that a snapshot states it if a Secret gets a new value while it is taken: other objects may have
// that value.
func TestRotated(t *testing.T) {
	lists := 0
	for _, after := range []int{0, -1} { // 0: from the first list on; -1: in the last one only
		if after < 0 {
			after = lists - 1
		}
		lists = 0
		m, err := snapshot.Take(t.Context(), rotating{live{open(t, testdata+"sick")}, &lists, after}, io.Discard,
			snapshot.Options{Pause: func(context.Context) error { return nil }})
		must(t, err)
		stated := len(m.Gaps) == 1 && m.Gaps[0].What == "values of Secrets"
		if stated != (after > 0) || len(m.Gaps) > 1 {
			t.Errorf("after %d of %d lists: the gaps are %+v", after, lists, m.Gaps)
		}
	}
}

// TestNotReadAgain checks that a snapshot states it if Secrets could not be read again at its end.
func TestNotReadAgain(t *testing.T) {
	lists := 0
	take := func(fails func(int) source.Reason) *format.Manifest {
		lists = 0
		m, err := snapshot.Take(t.Context(), failing{live{open(t, testdata+"sick")}, &lists, fails}, io.Discard,
			snapshot.Options{Pause: func(context.Context) error { return nil }})
		must(t, err)
		return m
	}
	if m := take(func(int) source.Reason { return "" }); len(m.Gaps) > 0 {
		t.Errorf("all Secrets were read: %+v", m.Gaps)
	}
	last := lists
	m := take(func(list int) source.Reason {
		if list == last {
			return source.ReadFailed
		}
		return ""
	})
	if len(m.Gaps) != 1 || m.Gaps[0].What != "listing secrets again" {
		t.Errorf("the last list failed: the gaps are %+v", m.Gaps)
	}
}
