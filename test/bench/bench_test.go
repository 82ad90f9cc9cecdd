// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// built is the product for the tests, in a directory that outlives the first of them.
var built struct {
	dir  string
	once sync.Once
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fleetdoctor-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runSmall runs the program, and returns what it prints. All tests measure one product, so that it is linked once.
func runSmall(t *testing.T, args ...string) document {
	t.Helper()
	product := filepath.Join(built.dir, "kubectl-fleetdoctor")
	built.once.Do(func() { built.err = buildProduct(context.WithoutCancel(t.Context()), product) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	var out, progress bytes.Buffer
	if err := run(t.Context(), append([]string{"-product", product, "-json"}, args...), &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var doc document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestRun measures a few objects to check the whole program. Only figures that do not depend on the machine are
// compared.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	if err := run(t.Context(), []string{"-n", "10,505", "-rounds", "2", "-kubectl-rounds", "1", "-kubectl-limit", "10",
		"-json"}, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var doc document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Results) != 2 {
		t.Fatalf("%d results, want 2", len(doc.Results))
	}
	for i, want := range []struct{ objects, releases, diffs int }{{10, 1, 1}, {505, 2, 0}} {
		r := doc.Results[i]
		if r.Objects != want.objects || r.Releases != want.releases || len(r.Rounds) != 2 ||
			len(r.diffs()) != want.diffs {
			t.Errorf("%d objects in %d releases, %d rounds, %d of them with kubectl diff; want %+v", r.Objects,
				r.Releases, len(r.Rounds), len(r.diffs()), want)
		}
		if size := r.objectBytes(); size < 1800 || size > 3000 {
			t.Errorf("an object has %d bytes, want about 2 KiB", size)
		}
		for _, round := range r.Rounds {
			if round.Floor <= 0 || round.Audit.Wall <= 0 || round.Audit.CPU <= 0 || round.Audit.Peak < mebibyte {
				t.Errorf("not measured: %+v", round)
			}
		}
		for _, l := range r.Lists {
			if l.Pages != 1 || l.Bytes == 0 {
				t.Errorf("%s %s: %d pages, %d bytes; want one page", l.Kind, l.Selector, l.Pages, l.Bytes)
			}
		}
	}
	var names []string
	for _, target := range doc.Targets {
		names = append(names, target.Name)
	}
	want := []string{"audit / floor", "kubectl diff / audit", "peak resident memory", "requests in excess",
		"audit / floor", "peak resident memory", "requests in excess", "time / time at 10"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// TestRunManagement measures a small management cluster. The program itself checks that an audit reports nothing.
func TestRunManagement(t *testing.T) {
	doc := runSmall(t, "-fleet", "-n", "12", "-rounds", "2")
	if len(doc.Results) != 1 || len(doc.Results[0].Rounds) != 2 || len(doc.Targets) != 3 {
		t.Fatalf("measured: %+v", doc)
	}
	if r := doc.Results[0]; r.Deployments != 144 || r.Objects != 144*perDeployment || len(r.Excess) > 0 {
		t.Errorf("%d resources in %d BundleDeployments, requests in excess %v", r.Objects, r.Deployments, r.Excess)
	}
	if target := doc.Targets[1]; target.Bound != managementPeak {
		t.Errorf("%+v, want a bound of %d", target, managementPeak)
	}
}

// TestRunChanges measures the verbs that write on a few objects.
func TestRunChanges(t *testing.T) {
	for _, c := range []struct {
		verb    string
		results func(document) []changeResult
		targets []string
		rows    []string
	}{
		{"adopt", func(d document) []changeResult { return d.Adoptions },
			[]string{"adopt / bare patches, per second", "undo / bare patches, per second"},
			[]string{"bare patches "}},
		{"repair", func(d document) []changeResult { return d.Repairs },
			[]string{"repair / bare create (POST)", "repair / bare apply"},
			[]string{"bare create (POST) ", "bare apply "}},
	} {
		t.Run(c.verb, func(t *testing.T) {
			doc := runSmall(t, "-"+c.verb, "-n", "20", "-rounds", "2")
			results := c.results(doc)
			if len(results) != 1 || len(results[0].Rounds) != 2 || results[0].Objects != 20 {
				t.Fatalf("measured: %+v", doc)
			}
			for _, r := range results[0].Rounds {
				measured := r.Bare > 0 && r.Verb.Wall > 0 && r.Undo.Wall > 0 && r.Verb.Peak > mebibyte
				if !measured || (r.Apply > 0) != (c.verb == "repair") {
					t.Errorf("not measured: %+v", r)
				}
			}
			var names []string
			for _, target := range doc.Targets {
				names = append(names, target.Name)
			}
			if diff := cmp.Diff(c.targets, names); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			var table bytes.Buffer
			if err := doc.print(&table); err != nil {
				t.Fatal(err)
			}
			for _, want := range append(c.rows, "fleetdoctor "+c.verb+", measured", "20 objects in 1 releases",
				c.verb+" --undo ", "objects per second: bare") {
				if !strings.Contains(table.String(), want) {
					t.Errorf("the table does not contain %q:\n%s", want, &table)
				}
			}
		})
	}
}

// TestRunClusters measures three small clusters. The program itself checks that an audit finds every object of each
// ready, which it does only if the release records and the live objects of a cluster agree.
func TestRunClusters(t *testing.T) {
	doc := runSmall(t, "-clusters", "3", "-n", "20", "-rounds", "2")
	if len(doc.Clusters) != 1 || len(doc.Clusters[0].Rounds) != 2 || len(doc.Targets) != 2 {
		t.Fatalf("measured: %+v", doc)
	}
	for _, r := range doc.Clusters[0].Rounds {
		if len(r.Each) != 3 || r.sequence().Wall <= r.Each[0].Wall || r.Together.Peak < mebibyte {
			t.Errorf("not measured: %+v", r)
		}
	}
	if target := doc.Targets[0]; target.Objects != 60 || target.Bound != mostOverOne {
		t.Errorf("%+v, want 60 objects and a bound of %g", target, mostOverOne)
	}
	var table bytes.Buffer
	if err := doc.print(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 clusters, each with 20 objects in 1 releases", "audit of one cluster ",
		"of each, one after the other ", "of all in one run "} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table does not contain %q:\n%s", want, &table)
		}
	}
}

// TestReplay checks that the answer of another cluster has nothing of the first one, also in a release record.
func TestReplay(t *testing.T) {
	release := newRelease(1, 1).manifest
	body := fmt.Sprintf(`{"release":%q,"namespace":%q,"text":"a %s","value":%q}`,
		base64Of(base64Of(gzipped(t, release))), base64Of([]byte(first.namespace())), first.mark(),
		base64Of([]byte(first.mark()+" b")))
	out, err := newReplay(nil, 2).own(answer{header: http.Header{"Content-Encoding": {"gzip"}},
		body: gzipped(t, body)})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Release, Namespace, Value []byte
		Text                      string
	}
	if err := json.Unmarshal(gunzipped(t, out), &got); err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(string(got.Release))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{strings.ReplaceAll(release, "replayed0001", "replayed0002"), "cluster-fleet-local-0002-bench",
		"a replayed0002", "replayed0002 b"}
	if diff := cmp.Diff(want, []string{string(gunzipped(t, packed)), string(got.Namespace), got.Text,
		string(got.Value)}); diff != "" {
		t.Errorf("release, namespace, text and value (-want +got):\n%s", diff)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	pack := gzip.NewWriter(&out)
	if _, err := pack.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := pack.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gunzipped(t *testing.T, packed []byte) []byte {
	t.Helper()
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(unpack)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParse(t *testing.T) {
	got, err := parse([]string{"-n", "10,20"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := options{sizes: []int{10, 20}, rounds: 7, kubectlRounds: 3, kubectlLimit: 10_000, known: 100_000}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"-n", "many"}, {"-n", "0"}, {"-n", "20,10"}, {"-rounds", "0"},
		{"-adopt", "-n", "10,20"}, {"-repair", "-n", "10,20"},
		{"-webhook", "-n", "10,20"},
		{"-webhook", "-adopt"}, {"-repair", "-adopt"},
		{"-clusters", "2", "-fleet"}, {"-clusters", "2", "-n", "10,20"}, {"-clusters", "-1"},
		{"-known", "-1"}, {"more"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestListsOf(t *testing.T) {
	get := func(path, query, accept string) request {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		return request{method: "GET", path: path, query: q, accept: accept, gzip: true}
	}
	const all, metadata = "application/json",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	patch := get("/api/v1/namespaces/a/secrets/b", "dryRun=All", all)
	patch.method = "PATCH"
	lists, excess := listsOf([]request{
		get("/apis", "", all),
		get("/api/v1/secrets", "limit=500&fieldSelector=type!%3Dx", all),
		get("/apis/apps/v1/namespaces/a/deployments", "limit=500&labelSelector=hash", metadata),
		get("/api/v1/secrets", "limit=500&fieldSelector=type!%3Dx&continue=t", all),
		get("/api/v1/secrets", "limit=500", all),
		get("/api/v1/secrets", "limit=500", all), // repeated
		get("/api/v1/namespaces/a/configmaps/b", "", all),
		patch,
	})
	want := []*list{
		{Kind: "/apis", Pages: 1, uri: "/apis", accept: all, gzip: true},
		{Kind: "configmaps", Pages: 1, uri: "/api/v1/namespaces/a/configmaps/b", accept: all, gzip: true},
		{Kind: "deployments.apps", Selector: "hash", Metadata: true, Pages: 1,
			uri: "/apis/apps/v1/namespaces/a/deployments?labelSelector=hash&limit=500", accept: metadata, gzip: true},
		{Kind: "secrets", Selector: "type!=x", Pages: 2, uri: "/api/v1/secrets?fieldSelector=type%21%3Dx&limit=500",
			accept: all, gzip: true},
		{Kind: "secrets", Pages: 2, uri: "/api/v1/secrets?limit=500", accept: all, gzip: true},
	}
	if diff := cmp.Diff(want, lists, cmp.AllowUnexported(list{})); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	wantExcess := []string{"GET /api/v1/secrets?limit=500", "GET /api/v1/namespaces/a/configmaps/b",
		"PATCH /api/v1/namespaces/a/secrets/b?dryRun=All"}
	if diff := cmp.Diff(wantExcess, excess); diff != "" {
		t.Errorf("excess (-want +got):\n%s", diff)
	}
}

func TestContinueToken(t *testing.T) {
	items := `"items":[` + strings.Repeat(`{"metadata":{"continue":"no"}},`, endSize/10) +
		`{"metadata":{"continue":"nor"}}]`
	for text, want := range map[string]string{
		`{"kind":"SecretList","metadata":{"resourceVersion":"1","continue":"abc"},` + items +
			`}`: "abc",
		`{"apiVersion":"a/v1",` + items + `,"kind":"AList","metadata":{"continue":"abc","resourceVersion":"1"}}` +
			"\n": "abc",
		`{"apiVersion":"a/v1",` + items + `,"kind":"AList","metadata":{"resourceVersion":"1"}}` +
			"\n": "",
		`{"kind":"SecretList","metadata":{"resourceVersion":"1","continue":"abc"},"items":[]}`:               "abc",
		`{"kind":"SecretList","metadata":{"resourceVersion":"1"},"items":[{"data":{"continue":"nothing"}}]}`: "",
		`{"gitVersion":"v1.36.3"}`: "",
	} {
		for _, size := range []int{7, endSize, len(text)} {
			e := &ends{}
			for piece := range slices.Chunk([]byte(text), size) {
				if n, err := e.Write(piece); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := e.continueToken(); got != want {
				t.Errorf("%.80s: %q, want %q", text, got, want)
			}
		}
	}
}

// sample returns three rounds at each of two sizes.
func sample() []result {
	taken := func(objects int, scale float64) result {
		seconds := func(s float64) time.Duration { return time.Duration(s * scale * float64(time.Second)) }
		diff := usage{Wall: seconds(20), CPU: seconds(18), Peak: 90 * mebibyte}
		return result{Objects: objects, Releases: objects / perRelease,
			Lists: []*list{{Kind: "/version", Pages: 1, Bytes: 300},
				{Kind: "configmaps", Pages: 2, Bytes: int64(2048 * objects)}, {Kind: "pods", Metadata: true,
					Selector: "hash", Pages: 1, Bytes: 200}},
			Rounds: []round{
				{Floor: seconds(0.2), Audit: usage{Wall: seconds(0.3), CPU: seconds(0.4), Peak: 100 * mebibyte},
					Diff: &diff},
				{Floor: seconds(0.4), Audit: usage{Wall: seconds(1.2), CPU: seconds(0.6), Peak: 140 * mebibyte}},
				{Floor: seconds(0.3), Audit: usage{Wall: seconds(0.57), CPU: seconds(0.5), Peak: 120 * mebibyte}},
			}}
	}
	small, large := taken(5000, 1), taken(50000, 12)
	large.Rounds[0].Diff = nil
	large.Excess = []string{"GET /api/v1/pods"}
	return []result{small, large}
}

func TestTargetsOf(t *testing.T) {
	want := []target{
		{Name: "audit / floor", Objects: 5000, Figure: 1.9, Bound: 2, Met: true},
		{Name: "kubectl diff / audit", Objects: 5000, Figure: 20 / 0.3, Bound: 30, AtLeast: true, Met: true},
		{Name: "peak resident memory", Objects: 5000, Figure: 140, Bound: 150, Unit: "MiB", Met: true},
		{Name: "requests in excess", Objects: 5000, Met: true},
		{Name: "audit / floor", Objects: 50000, Figure: 1.9, Bound: 2, Met: true},
		{Name: "peak resident memory", Objects: 50000, Figure: 140, Bound: 400, Unit: "MiB", Met: true},
		{Name: "requests in excess", Objects: 50000, Figure: 1},
		{Name: "time / time at 5000", Objects: 50000, Figure: 12, Bound: 11},
	}
	if diff := cmp.Diff(want, targetsOf(sample()), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func TestPrint(t *testing.T) {
	results := sample()
	doc := document{Results: results, Targets: targetsOf(results), Machine: machine{Cores: 2, MemoryBytes: 8 << 30,
		Platform: "linux/amd64",
		Go:       "go1.26.0", Server: "v1.36.3", Kubectl: "v1.36.3", Taken: "2026-01-02T03:04:05Z"}}
	var out strings.Builder
	if err := doc.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `kubectl fleetdoctor audit, measured at 2026-01-02T03:04:05Z
2 cores, 8.0 GiB of memory, linux/amd64; go1.26.0, kube-apiserver v1.36.3 on the same machine, kubectl v1.36.3

5000 objects (ConfigMap, Secret, Service, Deployment, ServiceAccount), 2.0 KiB each, in 10 releases
               median    lowest    highest   processor   peak memory   rounds
floor          0.30 s    0.20 s    0.40 s                              3
audit          0.57 s    0.30 s    1.20 s    0.50 s      140 MiB       3
kubectl diff   20.00 s   20.00 s   20.00 s   18.00 s     90 MiB        1

requests of one audit         4   10001 KiB
  /version                    1   1 KiB
  configmaps                  2   10000 KiB
  all other kinds, metadata   1   1 KiB       by label

50000 objects (ConfigMap, Secret, Service, Deployment, ServiceAccount), 2.0 KiB each, in 100 releases
               median   lowest   highest   processor   peak memory   rounds
floor          3.60 s   2.40 s   4.80 s                              3
audit          6.84 s   3.60 s   14.40 s   6.00 s      140 MiB       3
kubectl diff   not run (see -kubectl-rounds and -kubectl-limit)

requests of one audit         4   100001 KiB
  /version                    1   1 KiB
  configmaps                  2   100000 KiB
  all other kinds, metadata   1   1 KiB        by label
  in excess: GET /api/v1/pods

                       objects   figure    target
audit / floor          5000      1.9       at most 2         met
kubectl diff / audit   5000      66.67     at least 30       met
peak resident memory   5000      140 MiB   at most 150 MiB   met
requests in excess     5000      0         at most 0         met
audit / floor          50000     1.9       at most 2         met
peak resident memory   50000     140 MiB   at most 400 MiB   met
requests in excess     50000     1         at most 0         missed
time / time at 5000    50000     12        at most 11        missed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestNewRelease(t *testing.T) {
	a, b := newRelease(1, 12), newRelease(1, 12)
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(release{})); diff != "" {
		t.Errorf("the same release twice (-first +second):\n%s", diff)
	}
	if n := strings.Count(a.manifest, "\nkind: "); n != 12 || len(a.deployments) != 2 {
		t.Errorf("%d objects, %d Deployments; want 12 and 2", n, len(a.deployments))
	}
	for _, placeholder := range []string{"NAME", "MARK", "TEXT", "VALUE"} {
		if strings.Contains(a.manifest, placeholder) {
			t.Errorf("%s was not replaced", placeholder)
		}
	}
	if a.manifest == newRelease(2, 12).manifest {
		t.Error("two releases are equal")
	}
}

func TestPeakOfChildProcess(t *testing.T) {
	ballast := bytes.Repeat([]byte{1}, 200*mebibyte) // resident in this process when the child starts
	// The output is larger than a pipe: the child still runs when the first piece is read, however slow the machine is.
	const size = mebibyte
	u, out, err := execute(t.Context(), "head", "-c", strconv.Itoa(size), "/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != size || u.Peak > 100*mebibyte || u.Peak == 0 && runtime.GOOS == "linux" {
		t.Errorf("%d bytes of output and a peak of %d bytes, want %d bytes and a peak that is not this process's",
			len(out), u.Peak, size)
	}
	if ballast[len(ballast)-1] != 1 {
		t.Error("the ballast is gone")
	}
}
