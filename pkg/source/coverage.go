// SPDX-License-Identifier: Apache-2.0

package source

import "maps"

// Reason is why something could not be read. The values are reasons of the state Unknown in the report.
type Reason string

// The reasons.
const (
	Forbidden     Reason = "Forbidden"
	KindNotServed Reason = "KindNotServed"
	ReadFailed    Reason = "ReadFailed"
	NotInSnapshot Reason = "NotInSnapshot"
)

// Failure is a reason with the detail that the other side gave, which may be printed.
type Failure struct {
	Reason Reason
	Detail string
}

// Coverage says for which namespaces a List yielded all objects. The zero value covers nothing.
type Coverage struct {
	all        bool
	namespaces map[string]Failure // a zero Failure means covered
	elsewhere  Failure
}

// Covered is the coverage of a List that read everything it was asked for.
func Covered() Coverage { return Coverage{all: true} }

// NotCovered is the coverage of a List that failed with f.
func NotCovered(f Failure) Coverage { return Coverage{elsewhere: f} }

// CoveredIn is the coverage of a List that read all objects of some namespaces; f applies to all others.
func CoveredIn(namespaces []string, f Failure) Coverage {
	c := Coverage{namespaces: make(map[string]Failure, len(namespaces)), elsewhere: f}
	for _, ns := range namespaces {
		c.namespaces[ns] = Failure{}
	}
	return c
}

// With returns the coverage with the outcome of one namespace set; nil means that all of it was read. Cluster-scoped objects have the
// namespace "".
func (c Coverage) With(namespace string, f *Failure) Coverage {
	n := make(map[string]Failure, len(c.namespaces)+1)
	maps.Copy(n, c.namespaces)
	n[namespace] = Failure{}
	if f != nil {
		n[namespace] = *f
	}
	return Coverage{all: c.all, namespaces: n, elsewhere: c.elsewhere}
}

// Of says whether a List yielded all objects of that namespace ("" for cluster-scoped objects), so that an object that it did not yield
// does not exist. If it did not, the failure says why.
func (c Coverage) Of(namespace string) (Failure, bool) {
	if f, ok := c.namespaces[namespace]; ok {
		return f, f == Failure{}
	}
	return c.elsewhere, c.all
}

// Failures lists what failed by namespace, and under "*" for all other namespaces. It is empty for a complete coverage.
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
