// SPDX-License-Identifier: Apache-2.0

package source

import (
	"maps"
	"slices"
)

// Reason is the reason why data could not be read. In the report, it is a reason of the state Unknown.
type Reason string

// The reasons.
const (
	Forbidden     Reason = "Forbidden"
	KindNotServed Reason = "KindNotServed"
	ReadFailed    Reason = "ReadFailed"
	NotInSnapshot Reason = "NotInSnapshot"
)

// Failure is a reason with the message of the server, which may be printed.
type Failure struct {
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Coverage is the set of namespaces for which a List yielded all objects. The zero value covers nothing.
type Coverage struct {
	all        bool
	namespaces map[string]Failure // a zero Failure means covered
	elsewhere  Failure
}

// Covered is the coverage of a List that yielded all requested objects.
func Covered() Coverage { return Coverage{all: true} }

// NotCovered is the coverage of a List that failed with f.
func NotCovered(f Failure) Coverage { return Coverage{elsewhere: f} }

// CoveredIn is the coverage of a List that yielded all objects of some namespaces. f applies to all other namespaces.
func CoveredIn(namespaces []string, f Failure) Coverage {
	c := Coverage{namespaces: make(map[string]Failure, len(namespaces)), elsewhere: f}
	for _, ns := range namespaces {
		c.namespaces[ns] = Failure{}
	}
	return c
}

// With returns the coverage with the failure of one namespace. nil means that all its objects were read. The namespace
// of cluster-scoped objects is "".
func (c Coverage) With(namespace string, f *Failure) Coverage {
	n := make(map[string]Failure, len(c.namespaces)+1)
	maps.Copy(n, c.namespaces)
	n[namespace] = Failure{}
	if f != nil {
		n[namespace] = *f
	}
	return Coverage{all: c.all, namespaces: n, elsewhere: c.elsewhere}
}

// Of reports whether a List yielded all objects of a namespace ("" for cluster-scoped objects). Then an object that it
// did not yield does not exist. Otherwise the failure is the reason.
func (c Coverage) Of(namespace string) (Failure, bool) {
	if f, ok := c.namespaces[namespace]; ok {
		return f, f == Failure{}
	}
	return c.elsewhere, c.all
}

// Within limits the coverage to the namespaces that matter; nil means that all of them matter. Then nothing is
// missing in the other namespaces.
func (c Coverage) Within(namespaces []string) Coverage {
	if namespaces == nil {
		return c
	}
	out := Covered()
	for _, ns := range namespaces {
		if f, all := c.Of(ns); !all {
			out = out.With(ns, &f)
		}
	}
	return out
}

// Namespaces returns the namespaces that are covered one by one, sorted. Those of a List of all namespaces are not
// among them.
func (c Coverage) Namespaces() []string {
	var out []string
	for ns, f := range c.namespaces {
		if f == (Failure{}) {
			out = append(out, ns)
		}
	}
	slices.Sort(out)
	return out
}

// Whole reports whether a List yielded all objects of all namespaces. The List of one namespace does not, although it
// yields all cluster-scoped objects.
func (c Coverage) Whole() bool { return c.all && len(c.Failures()) == 0 }

// Failures returns the failures by namespace. The key "*" stands for all other namespaces. The map is empty for a
// complete coverage.
func (c Coverage) Failures() map[string]Failure {
	out := map[string]Failure{}
	for ns, f := range c.namespaces {
		if f != (Failure{}) {
			out[ns] = f
		}
	}
	if !c.all && c.elsewhere != (Failure{}) {
		out["*"] = c.elsewhere
	}
	return out
}
