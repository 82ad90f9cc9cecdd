// SPDX-License-Identifier: Apache-2.0

// Package journal has the entries of the auditor about what vanished, and reads them. They are in ConfigMaps with a
// label. The package pkg/auditor/publish writes them.
package journal

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const (
	// Label is on every ConfigMap of a journal, with the value "true".
	Label = "fleetdoctor.io/journal"
	// Key is the key of the entries in a ConfigMap: one JSON document in each line.
	Key = "entries"
	// Kept is how long an entry is kept.
	Kept = 30 * 24 * time.Hour
	// binding is the ClusterRoleBinding of an auditor. The chart gives it this name in each namespace.
	binding = "fleetdoctor-auditor"
	// defaultNamespace is the namespace of an auditor whose ClusterRoleBinding is not found or could not be read.
	defaultNamespace = "fleetdoctor-system"
)

// Event is what happened.
type Event string

// The events.
const (
	// Deleted objects are desired, existed, and do not exist any more.
	Deleted Event = "Deleted"
	// Dropped objects existed, and a new revision of the release no longer desires them.
	Dropped Event = "Dropped"
	// Uninstalled is a release whose record does not exist any more.
	Uninstalled Event = "Uninstalled"
)

// Entry is what vanished from one bundle deployment between two evaluations.
type Entry struct {
	Event Event `json:"event"`
	// It happened after From and until To: the times of the evaluations before and after.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Cluster, BundleDeployment and Bundle are "namespace/name"; empty if they are not known. Of a bundle deployment of
	// which only the release is known, BundleDeployment is the bundle id.
	Cluster          string `json:"cluster,omitempty"`
	BundleDeployment string `json:"bundleDeployment"`
	Bundle           string `json:"bundle,omitempty"`
	// Release is "namespace/name", with the Revision at To; for Uninstalled, its last one. Commit is the Git commit of
	// the release.
	Release  string `json:"release"`
	Revision int    `json:"revision"`
	Commit   string `json:"commit,omitempty"`
	// By is who did it, if data of the cluster shows that; empty if it is not known.
	By string `json:"by,omitempty"`
	// KeepResources is true for a release with this option: its objects stay if its agent uninstalled it, and they are
	// not named.
	KeepResources bool `json:"keepResources,omitempty"`
	// Objects are the first of the objects, Total is the number of all; 0 if they are not known.
	Objects []Object `json:"objects,omitempty"`
	Total   int      `json:"total"`
}

// Same reports whether two entries are about the same event: the same objects of the same revision vanished in periods
// that overlap.
func (e *Entry) Same(o *Entry) bool {
	overlap := e.From.Before(o.To) && o.From.Before(e.To)
	same := e.Event == o.Event && e.Release == o.Release && e.Revision == o.Revision
	return overlap && same && slices.EqualFunc(e.Objects, o.Objects, func(x, y Object) bool { return x.Ref == y.Ref })
}

// Object is an object that vanished.
type Object struct {
	object.Ref
	// LastWriter is the field manager that wrote a field last that differed from the bundle, if one is recorded. It
	// need not have deleted the object.
	LastWriter string `json:"lastWriter,omitempty"`
}

// Has reports whether an object is among those of the entry.
func (e *Entry) Has(k object.Key) bool {
	return slices.ContainsFunc(e.Objects, func(o Object) bool { return o.Key() == k })
}

// Decode returns the entries in a text, and the number of lines that are none.
func Decode(text string) (entries []Entry, damaged int) {
	return decodeLines(text, func(e *Entry) time.Time { return e.To })
}

// decodeLines decodes one JSON document in each line. One without a time is damaged.
func decodeLines[T any](text string, at func(*T) time.Time) (decoded []T, damaged int) {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var x T
		switch err := json.Unmarshal(lines.Bytes(), &x); {
		case err != nil, at(&x).IsZero():
			damaged++
		default:
			decoded = append(decoded, x)
		}
	}
	return decoded, damaged
}

// Book is what was read of a journal.
type Book struct {
	// Namespace is that of the ConfigMaps.
	Namespace string
	// Entries are sorted, the newest one first.
	Entries []Entry
	// Damaged is the number of entries that could not be decoded.
	Damaged  int
	Coverage source.Coverage
}

// Namespace returns the namespace of the auditor: the one of the service account in its ClusterRoleBinding, which only
// an administrator writes. A user who may write ConfigMaps in another namespace can write what looks like a journal.
// Without the binding, it is the usual one, and found is false.
func Namespace(ctx context.Context, src source.Source) (namespace string, found bool, err error) {
	return namespaceIn(ctx, src, binding)
}

// namespaceIn returns the namespace of the service account in a ClusterRoleBinding, and otherwise the usual one.
func namespaceIn(ctx context.Context, src source.Source, binding string) (namespace string, found bool, err error) {
	namespace = defaultNamespace
	q := source.Query{Kind: rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
		FieldSelector: "metadata.name=" + binding}
	_, err = src.List(ctx, q, func(o source.Object) error {
		var b struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Subjects []rbacv1.Subject `json:"subjects"`
		}
		if read := object.Into(o.Raw, &b) == nil; !read || b.Metadata.Name != binding {
			return nil
		}
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Namespace != "" {
				namespace, found = s.Namespace, true
			}
		}
		return nil
	})
	return namespace, found, err
}

// Read reads the journal in a namespace.
func Read(ctx context.Context, src source.Source, namespace string) (*Book, error) {
	out := &Book{Namespace: namespace}
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), LabelSelector: Label + "=true",
		Namespaces: []string{namespace}}
	cover, err := src.List(ctx, q, func(o source.Object) error {
		out.add(&o)
		return nil
	})
	out.Coverage = cover
	slices.SortStableFunc(out.Entries, func(x, y Entry) int {
		return cmp.Or(y.To.Compare(x.To), cmp.Compare(x.BundleDeployment, y.BundleDeployment))
	})
	return out, err
}

// add adds the entries of a ConfigMap. One that cannot be decoded counts as a damaged entry.
func (b *Book) add(o *source.Object) {
	var m struct {
		Data map[string]string `json:"data"`
	}
	if object.Into(o.Raw, &m) != nil {
		b.Damaged++
		return
	}
	entries, damaged := Decode(m.Data[Key])
	b.Entries, b.Damaged = append(b.Entries, entries...), b.Damaged+damaged
}

// KindHistory is the kind of a History.
const KindHistory = "AuditorHistory"

// History is what the journals of a cluster say about what vanished.
type History struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the journals were read (RFC 3339). Since is the time from which entries are shown.
	TakenAt string `json:"takenAt"`
	Since   string `json:"since"`
	// Namespace is that of the auditor. Journals in other namespaces are not read.
	Namespace string `json:"namespace"`
	// Entries are sorted, the newest one first.
	Entries []Entry `json:"entries"`
	// Gaps are what could not be read. With a gap, there may be more entries.
	Gaps []source.Gap `json:"gaps"`
}

// History returns the entries since a time for which selected is true. Older ones than are kept are left out.
func (b *Book) History(taken, since time.Time, selected func(*Entry) bool) *History {
	if oldest := taken.Add(-Kept); since.Before(oldest) {
		since = oldest
	}
	out := &History{Kind: KindHistory, Namespace: b.Namespace, TakenAt: taken.UTC().Format(time.RFC3339),
		Since: since.UTC().Format(time.RFC3339), Entries: []Entry{}, Gaps: []source.Gap{}}
	for i := range b.Entries {
		if e := &b.Entries[i]; !e.To.Before(since) && selected(e) {
			out.Entries = append(out.Entries, *e)
		}
	}
	const effect = "there may be more entries"
	out.Gaps = append(out.Gaps, source.CoverageGaps("listing the ConfigMaps of the journal", b.Coverage, effect)...)
	if b.Damaged > 0 {
		out.Gaps = append(out.Gaps, source.Gap{What: "reading the journal in namespace " + b.Namespace, Effect: effect,
			Reason: fmt.Sprintf("%d entries could not be decoded", b.Damaged)})
	}
	return out
}
