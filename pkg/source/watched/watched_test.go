// SPDX-License-Identifier: Apache-2.0

package watched_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	live "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Run(m, &shared)) }

const many = 30

// watching returns a cluster in memory with many ConfigMaps in a namespace, and the proxy through which it is read.
func watching(t *testing.T) (*watched.Source, *proxy.Proxy, string) {
	t.Helper()
	namespace := strings.ToLower(t.Name())
	shared.Namespace(t, namespace)
	for i := range many {
		shared.ApplyYAML(t, "somebody", fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: c%02d, namespace: %s, labels: {number: "%[1]d"}}
data: {key: value}
`, i, namespace))
	}
	p := proxy.New(t, shared.Config())
	c, err := live.New(p.Config(), live.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s, err := watched.New(ctx, c, watched.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		s.Wait()
	})
	return s, p, namespace
}

var configMap = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// list returns whether each object has content.
func list(t *testing.T, s source.Source, q source.Query) map[string]bool {
	t.Helper()
	q.Kind = configMap
	out := map[string]bool{}
	cover, err := s.List(t.Context(), q, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err != nil {
			return err
		}
		if (len(o.Raw) > 0) == o.Remembered {
			t.Errorf("%s: %d bytes of content, remembered: %t", m.Metadata.Name, len(o.Raw), o.Remembered)
		}
		out[m.Metadata.Name] = !o.Remembered
		return nil
	})
	if f, covered := cover.Of(q.Namespaces[0]); err != nil || !covered {
		t.Fatalf("failure %v, error %v", f, err)
	}
	return out
}

// withContent is the number of listed objects that have content.
func withContent(listed map[string]bool) int {
	n := 0
	for _, content := range listed {
		if content {
			n++
		}
	}
	return n
}

// TestRemembered checks that the content of objects is dropped that the reader remembers, and read again if the reader
// does not remember them any more.
func TestRemembered(t *testing.T) {
	s, p, namespace := watching(t)
	remembered := func(string) bool { return true }
	q := source.Query{Namespaces: []string{namespace},
		Remembered: func(_, name, _ string) bool { return remembered(name) }}
	s.Begin()
	if got := list(t, s, q); len(got) != many || withContent(got) != many {
		t.Fatalf("the first list has %d objects, %d with content", len(got), withContent(got))
	}
	for _, c := range []struct {
		name     string
		forgets  func(name string) bool
		content  int
		requests bool
	}{
		{"all are remembered", func(string) bool { return false }, 0, false},
		{"one is forgotten", func(name string) bool { return name == "c07" }, 1, true},
		{"it is in memory again", func(name string) bool { return name == "c07" }, 1, false},
		{"all are forgotten", func(string) bool { return true }, many, true},
		{"all are in memory again", func(string) bool { return true }, many, false},
		{"all are remembered again", func(string) bool { return false }, 0, false},
	} {
		remembered = func(name string) bool { return !c.forgets(name) }
		before := len(p.Received())
		if got := list(t, s, q); len(got) != many || withContent(got) != c.content {
			t.Errorf("%s: %d objects, %d with content; want %d and %d", c.name, len(got), withContent(got), many,
				c.content)
		}
		if requests := len(p.Received()) - before; (requests > 0) != c.requests {
			t.Errorf("%s: %d requests", c.name, requests)
		}
	}
}

// TestOtherReaders checks that dropped objects answer no query of a reader that needs them.
func TestOtherReaders(t *testing.T) {
	s, _, namespace := watching(t)
	s.Begin()
	all := func(_, _, _ string) bool { return true }
	list(t, s, source.Query{Namespaces: []string{namespace}, Remembered: all})
	for _, q := range []source.Query{{LabelSelector: "number=7"}, {FieldSelector: "metadata.name=c07"}} {
		q.Namespaces = []string{namespace}
		if got := list(t, s, q); len(got) != 1 || !got["c07"] {
			t.Errorf("%v: %v", q, got)
		}
	}
}

// TestDrop checks that an object that changed has content until it is dropped.
func TestDrop(t *testing.T) {
	s, _, namespace := watching(t)
	s.Begin()
	all := func(_, _, _ string) bool { return true }
	list(t, s, source.Query{Namespaces: []string{namespace}, Remembered: all})
	state := func() (content bool) {
		o, found, err := s.Object(configMap, namespace, "c07")
		if err != nil || !found {
			t.Fatalf("found: %t, error: %v", found, err)
		}
		return !o.Remembered
	}
	if state() {
		t.Error("an object that is remembered has content")
	}
	shared.ApplyYAML(t, "somebody", fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: c07, namespace: %s}
data: {key: other}
`, namespace))
	poll.True(t, "the changed object has content", state)
	s.Drop(configMap, namespace, "c07", all)
	if state() {
		t.Error("an object that was dropped has content")
	}
}
