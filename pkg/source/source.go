// SPDX-License-Identifier: Apache-2.0

// Package source is the interface through which objects are read from a cluster or from a captured snapshot.
// A source yields objects one by one as they arrive and keeps none. What it could not read is data, not an error, so that a failed read
// is never taken for an empty cluster.
package source

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Source is a cluster, or a snapshot of one. Its methods may be called from several goroutines.
type Source interface {
	// Describe says what is being read. Its error means that nothing can be read at all.
	Describe(ctx context.Context) (Description, error)
	// Kinds lists the kinds that can be read.
	Kinds(ctx context.Context) (*Kinds, error)
	// List passes the objects of one kind to yield, each once, in no particular order. The coverage says for which namespaces these are
	// all objects; if a later page fails, earlier ones were still yielded. The error is that of yield, or the context's.
	List(ctx context.Context, q Query, yield func(Object) error) (Coverage, error)
}

// Origin says whether a source reads a cluster or a snapshot.
type Origin string

// The two origins.
const (
	OriginCluster  Origin = "cluster"
	OriginSnapshot Origin = "snapshot"
)

// Description says where the data comes from and when it was taken.
type Description struct {
	Origin            Origin
	Context, Server   string   // of a cluster: the kubeconfig's context and the server's address
	Paths             []string // of a snapshot
	KubernetesVersion string   // as the server writes it, "" if unknown
	TakenAt           time.Time
	Notes             []string // for the reader, but not gaps: the same object found twice
	Gaps              []Gap    // what could not be read on opening
}

// Gap is something that could not be read, and what follows from that.
type Gap struct {
	What string
	// Reason is a word, as of a Failure, or a sentence; Detail is what the other side said, empty where it said nothing.
	Reason, Detail string
	Effect         string
}

// NewGap makes a gap of a failure.
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

// CoverageGaps are the gaps that a list left. Namespaces that failed as the whole did are not named one by one.
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

// Object is one object of a List.
type Object struct {
	// Raw is its JSON. It is valid until yield returns.
	Raw []byte
	// Kind is the kind in the version in which it was read. Raw may lack it: API servers leave it out in the items of a list.
	Kind schema.GroupVersionKind
	// Meta is the result of ReadMeta if the source had to read it anyway, otherwise nil.
	Meta *object.Meta
}

// ReadMeta reads the object's metadata, under the kind that it was read in.
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

// Query asks for the objects of one kind.
type Query struct {
	Kind schema.GroupVersionKind
	// Namespaces restricts the query; empty means all of them.
	Namespaces []string
	// Fallback are the namespaces of interest. They are read one by one if reading all at once is forbidden.
	Fallback []string
	// LabelSelector and FieldSelector have the API's syntax. A snapshot understands the fields metadata.name, metadata.namespace and type.
	LabelSelector, FieldSelector string
	// MetadataOnly asks for apiVersion, kind and metadata alone. A source may yield more.
	MetadataOnly bool
}
