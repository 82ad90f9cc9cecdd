// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// TestMain is also the main function of the workers, because the Runner starts this test binary.
func TestMain(m *testing.M) {
	if process.IsWorker(os.Args) {
		os.Exit(process.Serve(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// generous is an emergency stop.
const generous = 5 * time.Minute

func newRunner(t *testing.T, limits process.Limits) *process.Runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := process.New(self, limits)
	t.Cleanup(r.Close)
	return r
}

// chart returns a bundle with one template.
func chart(name, template string) render.Input {
	return render.Input{Name: name, SetID: name, KubeVersion: "v1.36.3", APIVersions: []string{"v1"},
		Resources: []v1alpha1.BundleResource{
			{Name: "Chart.yaml", Content: "apiVersion: v2\nname: a\nversion: 1.0.0\n"}, {Name: "templates/a.yaml",
				Content: template}}}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  a: {{ .Values.a " +
	"| default \"none\" | quote }}\n"

// TestRender checks that a worker returns the same result or error as render.Render.
func TestRender(t *testing.T) {
	r := newRunner(t, process.Limits{})
	withValues := chart("values", configMap)
	withValues.Options.DefaultNamespace = "web"
	key := &v1alpha1.ValuesKey{Namespace: "web", Name: "a/b", Key: "x y"}
	withValues.Options.Helm = &v1alpha1.HelmOptions{ValuesFrom: []v1alpha1.ValuesFrom{{SecretKeyRef: key}}}
	withValues.ValuesFrom = [][]byte{[]byte("a: from a Secret <&>\n")}
	scoped := chart("scoped", "apiVersion: example.com/v1\nkind: Wide\nmetadata:\n  name: a\n")
	scoped.Options.TargetNamespace, scoped.ClusterScoped = "web", map[string]bool{"Wide.example.com": true}
	noValues := chart("no-values", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
	noValues.ValuesHash, noValues.Values = "sum", []byte{}
	unread := noValues
	unread.Values = nil
	for _, in := range []render.Input{withValues, scoped, noValues, unread, chart("fails", "{{ fail \"on purpose\" }}"),
		chart("random", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  r: {{ randAlpha 8 }}\n")} {
		want, wantErr := render.Render(t.Context(), in, nil)
		got, err := r.Render(t.Context(), in, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: result (-in process +worker):\n%s", in.Name, diff)
		}
		if diff := cmp.Diff(wantErr, err); diff != "" {
			t.Errorf("%s: error (-in process +worker):\n%s", in.Name, diff)
		}
	}
}

// TestLimits checks that a bundle which exceeds a limit causes an error with the limit, and that the next bundle is
// rendered.
func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		template, limit string
		time            time.Duration
	}{
		"endless loop": {"{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}", "3s of processor time",
			3 * time.Second},
		"large list": {"{{ range until 1000000000 }}{{ end }}", "256 MiB of memory", generous},
		"growing text": {`{{ $x := "0123456789abcdef" }}{{ range until 40 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`,
			"256 MiB of memory", generous},
		"large text": {"{{ repeat 100000000000 \"x\" }}", "256 MiB of memory", generous},
		"large object": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: {{ repeat 1000000 \"x\" " +
			"}}\n", "1 MiB of rendered objects", generous},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, process.Limits{Time: tc.time, Clock: generous, Memory: 256 << 20, Answer: 1 << 20})
			for i := range 2 { // in a new worker, and in a worker that has already rendered a bundle
				_, err := r.Render(t.Context(), chart("hostile", tc.template), nil)
				var limit *render.LimitError
				if !errors.As(err, &limit) || limit.Bundle != "hostile" || !strings.Contains(limit.Limit, tc.limit) {
					t.Errorf("error %v, want the limit %s", err, tc.limit)
				}
				got, err := r.Render(t.Context(), chart(fmt.Sprint("next-", i), configMap), nil)
				if err != nil || len(got.Objects) != 1 {
					t.Fatalf("the bundle after it: %+v, error %v", got, err)
				}
			}
		})
	}
}

// TestCancel checks that the end of the context ends a rendering.
func TestCancel(t *testing.T) {
	r := newRunner(t, process.Limits{Time: time.Hour, Clock: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := r.Render(ctx, chart("hostile",
			"{{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}"), nil)
		result <- err
	}()
	time.AfterFunc(200*time.Millisecond, cancel) // probably during the template; the result is the same before
	select {
	case err := <-result:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(generous):
		t.Fatal("the rendering did not end")
	}
}

// TestConcurrent checks that bundles which are rendered at the same time get their own results.
func TestConcurrent(t *testing.T) {
	r := newRunner(t, process.Limits{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("bundle-", i)
			got, err := r.Render(t.Context(), chart(name, configMap), nil)
			if err != nil || len(got.Objects) != 1 || got.Objects[0].Name != name {
				t.Errorf("%s: %+v, error %v", name, got, err)
			}
		})
	}
	wg.Wait()
}

// TestEnvironment checks that a worker does not get the environment of the program.
func TestEnvironment(t *testing.T) {
	t.Setenv("INVENTED_TOKEN", "hunter22")
	dir := t.TempDir()
	script, out := filepath.Join(dir, "worker"), filepath.Join(dir, "environment")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nenv >"+out+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var limit *render.LimitError
	if _, err := process.New(script, process.Limits{}).Render(t.Context(), chart("a", configMap), nil); !errors.As(err,
		&limit) {
		t.Errorf("a worker that ends without an answer: error %v", err)
	}
	got, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(got), "TZ=UTC") || strings.Contains(string(got), "hunter22") {
		t.Errorf("environment %q, error %v", got, err)
	}
}

func TestNoWorker(t *testing.T) {
	var limit *render.LimitError
	r := process.New(t.TempDir(), process.Limits{})
	if _, err := r.Render(t.Context(), chart("a", configMap), nil); err == nil || errors.As(err, &limit) ||
		!strings.HasPrefix(err.Error(), "starting the process that renders bundles: ") {
		t.Errorf("without an executable: error %v", err)
	}
	closed := newRunner(t, process.Limits{})
	closed.Close()
	if _, err := closed.Render(t.Context(), chart("a", configMap), nil); err == nil || errors.As(err, &limit) {
		t.Errorf("closed: error %v", err)
	}
}

// answers is a cluster with these objects as JSON. A lookup that is not among them is forbidden.
type answers map[string]render.Found

func (a answers) Lookup(_ context.Context, l render.Lookup) render.Found {
	if found, ok := a[l.String()]; ok {
		return found
	}
	return render.Found{Unknown: ", which could not be read (Forbidden)"}
}

// TestLookups checks that the Runner answers the lookups of a worker, and that a worker has the same result as
// render.Render.
func TestLookups(t *testing.T) {
	const password = "planted-Passw0rd"
	secret := render.Found{Object: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},` +
		`"data":{"password":"cGxhbnRlZC1QYXNzdzByZA==","size":1}}`)}
	cluster := answers{"secret web/db": secret, "secret web/none": {},
		"thing.example.com a": {Refused: "unable to get apiresource"},
		"every secret":        {Object: []byte(`{"kind":"SecretList","items":[` + string(secret.Object) + `]}`)}}
	const begin = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: "
	r := newRunner(t, process.Limits{})
	for name, tc := range map[string]struct{ template, want, gap, err string }{
		"a Secret": {template: `{{ dig "data" "password" "" (lookup "v1" "Secret" "web" "db") | b64dec }}`,
			want: password},
		"a number": {template: `{{ printf "%T" (lookup "v1" "Secret" "web" "db").data.size }}`,
			want: "int64"},
		"a list": {
			template: `{{ len (lookup "v1" "Secret" "" "").items }} of {{ (lookup "v1" "Secret" "" "").kind }}`,
			want:     "1 of SecretList"},
		"not found": {template: `{{ lookup "v1" "Secret" "web" "none" | toJson | quote }}`, want: "{}"},
		"changed by template": {
			template: `{{ $_ := set (lookup "v1" "Secret" "web" "db") "kind" "x" }}` +
				`{{ (lookup "v1" "Secret" "web" "db").kind }}`,
			want: "Secret"},
		"needed in the dry run": {template: `{{ (lookup "v1" "Secret" "web" "db").data.password | b64dec }}`,
			err: "a/templates/a.yaml:6:36: the dry run of Fleet's agent, in which lookups find nothing, fails: the " +
				"template failed: nil pointer evaluating"},
		"needed in a dry run on the server": {template: `{{ (lookup "v1" "Secret" "web" "db").data.password }}`,
			want: "cGxhbnRlZC1QYXNzdzByZA=="},
		"forbidden": {template: `found {{ empty (lookup "v1" "Secret" "web" "other") }}`,
			want: "found true", gap: "a template looks up secret web/other, which could not be read (Forbidden)"},
		"not served": {template: `{{ lookup "example.com/v1" "Thing" "" "a" }}`,
			err: "error calling lookup: unable to get apiresource"},
		"an error with values": {
			template: `{{ $db := lookup "v1" "Secret" "web" "db" }}` +
				`{{ fail (printf "bad password %s" ($db.data.password | b64dec)) }}`,
			err: "bad password …"},
	} {
		t.Run(name, func(t *testing.T) {
			in := chart("lookups", begin+tc.template+"\n")
			want, wantErr := render.Render(t.Context(), in, cluster)
			got, err := r.Render(t.Context(), in, cluster)
			if diff := cmp.Diff(want, got) + cmp.Diff(wantErr, err); diff != "" {
				t.Errorf("-in process +worker:\n%s", diff)
			}
			if err != nil {
				if tc.err == "" || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), password) {
					t.Errorf("error %v", err)
				}
				return
			}
			if raw := string(got.Objects[0].Raw); !strings.Contains(raw, `"a":"`+tc.want+`"`) {
				t.Errorf("object %s", raw)
			}
			if gaps := strings.Join(got.Gaps, "; "); gaps != tc.gap || (len(got.Unstable) > 0) != (tc.gap != "") {
				t.Errorf("gaps %q, unstable %v", gaps, got.Unstable)
			}
		})
	}
	old := chart("old", begin+`{{ (lookup "v1" "Secret" "web" "db").data.password }}`+"\n")
	old.OfflineDryRun = true
	if _, err := r.Render(t.Context(), old, cluster); err == nil || !strings.Contains(err.Error(),
		"the dry run of Fleet's agent") {
		t.Errorf("an agent whose dry run answers no lookup: error %v", err)
	}
	const loop = `{{ range until 1000 }}{{ lookup "v1" "Secret" "web" (print "other-" .) }}{{ end }}`
	many := chart("many", begin+loop+"\n")
	got, err := r.Render(t.Context(), many, cluster)
	if err != nil || len(got.Gaps) != 11 || got.Gaps[0] != "a template looks up more objects that are not known" {
		t.Errorf("1,000 lookups without an answer: error %v, gaps %q", err, got.Gaps)
	}
}

// silent is a cluster that does not answer.
type silent struct{}

func (silent) Lookup(ctx context.Context, _ render.Lookup) render.Found {
	<-ctx.Done()
	return render.Found{}
}

// TestSilentCluster checks that a lookup does not delay a bundle for longer than its limit.
func TestSilentCluster(t *testing.T) {
	var limit *render.LimitError
	r := newRunner(t, process.Limits{Time: generous, Clock: 200 * time.Millisecond})
	if _, err := r.Render(t.Context(), chart("a", `{{ lookup "v1" "Secret" "web" "db" }}`), silent{}); !errors.As(err,
		&limit) || limit.Limit != "200ms" {
		t.Errorf("error %v", err)
	}
}

// TestSlowBundles checks that bundles which exceed their processor time lower the limit of later bundles, which can
// still be rendered.
func TestSlowBundles(t *testing.T) {
	r := newRunner(t, process.Limits{Time: 2 * time.Second, Clock: generous})
	for i, want := range []string{"2s of processor time", "2s of processor time", "2s of processor time",
		"200ms of processor time"} {
		_, err := r.Render(t.Context(), chart("hostile",
			"{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"), nil)
		var limit *render.LimitError
		if !errors.As(err, &limit) || limit.Limit != want {
			t.Errorf("bundle %d: error %v, want the limit %s", i+1, err, want)
		}
	}
	if got, err := r.Render(t.Context(), chart("next", configMap), nil); err != nil || len(got.Objects) != 1 {
		t.Errorf("the bundle after them: %+v, error %v", got, err)
	}
}
