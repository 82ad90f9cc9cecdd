// SPDX-License-Identifier: Apache-2.0

// Package source is the interface through which objects are read from a cluster or from a captured snapshot. A source
// yields objects one by one. A failed read is data and not an error, so that it never counts as an empty cluster.
package source

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Source is a cluster, or a snapshot of a cluster. Its methods are safe for concurrent use.
type Source interface {
	// Describe returns the origin of the data. An error means that nothing can be read.
	Describe(ctx context.Context) (Description, error)
	// Kinds lists the kinds that can be read.
	Kinds(ctx context.Context) (*Kinds, error)
	// List yields each object of one kind once, in no particular order. The coverage is the set of namespaces of which
	// all objects were yielded. If a page fails, the objects of the pages before it were yielded. The error is that of
	// yield or of the context.
	List(ctx context.Context, q Query, yield func(Object) error) (Coverage, error)
}

// Origin is the type of a source.
type Origin string

// The two origins.
const (
	OriginCluster  Origin = "cluster"
	OriginSnapshot Origin = "snapshot"
)

// Description is the origin and the time of the data.
type Description struct {
	Origin            Origin
	Context, Server   string   // of a cluster: the context of the kubeconfig and the address of the server
	Paths             []string // of a snapshot
	KubernetesVersion string   // as the server states it, "" if unknown
	ClusterUID        string   // the uid of the Namespace kube-system, which identifies the cluster, "" if unknown
	TakenAt           time.Time
	Earliest          bool     // TakenAt is the newest time in the data, which may have been taken later
	Notes             []string // information that is not a gap, for example duplicate objects
	Gaps              []Gap    // data that could not be read when the source was opened
	// Complete is true for a snapshot whose manifest states what was read of a live cluster, and what could not be
	// read.
	Complete bool
	// Unmasked has the results that masking the values of Secrets would change; nil if no value is masked.
	Unmasked *Unmasked
}

// Live reports whether the data is that of a live cluster at the time TakenAt: a cluster, or a complete snapshot.
func (d Description) Live() bool { return d.Origin == OriginCluster || d.Complete }

// Partial reports whether the source is a snapshot that may lack objects without stating it.
func (d Description) Partial() bool { return d.Origin == OriginSnapshot && !d.Complete }

// Gap is data that could not be read, and the effect on the result.
type Gap struct {
	// Cluster is the name of the cluster; empty for the source itself.
	Cluster string `json:"cluster,omitempty"`
	What    string `json:"what"`
	// Reason is the reason of a Failure, or a sentence. Detail is the message of the server, "" without one.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Effect string `json:"effect,omitempty"`
	// Optional is true if no result needs the data: neither the state of a desired object, nor a number, nor a check of
	// one of Fleet's objects. Without the data, an audit can still end without findings.
	Optional bool `json:"optional,omitempty"`
}

// AsOptional returns gaps of data that no result needs.
func AsOptional(gaps []Gap) []Gap {
	for i := range gaps {
		gaps[i].Optional = true
	}
	return gaps
}

// NewGap makes a gap from a failure.
func NewGap(what string, f Failure, effect string) Gap {
	return Gap{What: what, Reason: string(f.Reason), Detail: f.Detail, Effect: effect}
}

// Why is the reason with its detail.
func (g Gap) Why() string {
	if g.Detail == "" {
		return g.Reason
	}
	return g.Reason + ": " + g.Detail
}

// CoverageGaps returns the gaps of a list. A namespace with the same reason as all other namespaces ("*") has no gap of
// its own.
func CoverageGaps(what string, c Coverage, effect string) []Gap {
	var out []Gap
	failures := c.Failures()
	for _, ns := range slices.Sorted(maps.Keys(failures)) {
		if ns != "*" && failures[ns].Reason == failures["*"].Reason {
			continue
		}
		where := ""
		if ns != "*" && ns != "" {
			where = " in namespace " + ns
		}
		out = append(out, NewGap(what+where, failures[ns], effect))
	}
	return out
}

// Object is one object of a List. It is valid until yield returns.
type Object struct {
	// Item has no metadata if the source has not read them. Its Raw may have managedFields. API servers omit the kind
	// in the items of a list, so Raw may lack it.
	object.Item
	// Kind is the kind in the version in which the object was read.
	Kind schema.GroupVersionKind
	// Partial is true if a snapshot has only its metadata, and those other fields that an audit of the cluster reads.
	Partial bool
	// Remembered is true if the object is yielded without content: it has only a namespace, a name and a
	// resourceVersion.
	Remembered bool
}

// NotCaptured is the failure of what is not in a partial object.
var NotCaptured = Failure{Reason: NotInSnapshot, Detail: "only its metadata was captured"}

// ReadMeta returns the object's metadata with the kind in which it was read.
func (o Object) ReadMeta() (*object.Meta, error) {
	m := o.Meta
	if m == nil {
		var err error
		if m, err = object.ReadMeta(o.Raw); err != nil {
			return nil, err
		}
	}
	m.APIVersion, m.Kind = o.Kind.GroupVersion().String(), o.Kind.Kind
	return m, nil
}

// Decode decodes the object and returns its managedFields as JSON, empty if there are none.
func (o Object) Decode() (content object.Content, managedFields []byte, err error) {
	content, managedFields, err = object.Decode(o.Raw)
	if managedFields == nil {
		managedFields = o.ManagedFields
	}
	return content, managedFields, err
}

// Query selects objects of one kind.
type Query struct {
	Kind schema.GroupVersionKind
	// Namespaces restricts the query. Empty means all namespaces.
	Namespaces []string
	// Fallback lists the namespaces that are read one by one if reading all namespaces is forbidden.
	Fallback []string
	// LabelSelector and FieldSelector have the API's syntax. A snapshot supports the fields metadata.name,
	// metadata.namespace and type.
	LabelSelector, FieldSelector string
	// MetadataOnly requests apiVersion, kind and metadata only. A source may yield more.
	MetadataOnly bool
	// Remembered reports whether the reader knows all that it needs of an object in a resourceVersion. A source that
	// has the object in memory may then yield it without content. It is called from any goroutine. nil remembers
	// nothing.
	Remembered func(namespace, name, version string) bool
}

// Method is how a manifest is written. Helm creates an object, and merges it into the live one, if it does not apply it
// server-side.
type Method string

// The methods. The zero value is ServerSide.
const (
	ServerSide     Method = ""
	Create         Method = "create"
	Merge          Method = "merge"          // of a kind of which only its definition is known
	StrategicMerge Method = "strategicMerge" // of a built-in kind: lists are merged by key
)

// Apply are the options with which a manifest is written.
type Apply struct {
	Method  Method
	Manager string
	// Force takes fields from other managers. It is only for ServerSide.
	Force bool
	// As is the user in whose name it is requested; empty for the user of the client.
	As string
	// Subresource is what a patch is for; empty for the object itself.
	Subresource string
}

// CoverageOf reads the namespaces of a query, and returns what was read. read reads all objects of one namespace, or of
// all namespaces (""); failed is the reason why it could not. If all namespaces are forbidden, those of Fallback are
// read one by one.
func CoverageOf(q Query, namespaced bool, read func(namespace string) (failed *Failure, err error)) (Coverage, error) {
	if len(q.Namespaces) > 0 && namespaced {
		return readEach(Coverage{}, q.Namespaces, read)
	}
	failed, err := read("")
	switch {
	case err != nil:
		return Coverage{}, err
	case failed == nil:
		return Covered(), nil
	case failed.Reason == Forbidden && namespaced:
		return readEach(NotCovered(*failed), q.Fallback, read)
	}
	return NotCovered(*failed), nil
}

func readEach(c Coverage, namespaces []string, read func(string) (*Failure, error)) (Coverage, error) {
	for _, ns := range namespaces {
		failed, err := read(ns)
		if err != nil {
			return c, err
		}
		c = c.With(ns, failed)
	}
	return c, nil
}
