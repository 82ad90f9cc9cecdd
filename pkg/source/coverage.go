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

// Failure is a reason with what the other side said, fit to be shown.
type Failure struct {
	Reason Reason
	Detail string
}

// Coverage says for which namespaces a List passed on every object there is. The zero value covers nothing.
type Coverage struct {
	all        bool
	namespaces map[string]Failure // a zero Failure means covered
	elsewhere  Failure
}

// Covered is the coverage of a List that read everything it was asked for.
func Covered() Coverage { return Coverage{all: true} }

// NotCovered is the coverage of a List that failed with f.
func NotCovered(f Failure) Coverage { return Coverage{elsewhere: f} }

// CoveredIn is the coverage of a List that read some namespaces wholly; f holds for all others.
func CoveredIn(namespaces []string, f Failure) Coverage {
	c := Coverage{namespaces: make(map[string]Failure, len(namespaces)), elsewhere: f}
	for _, ns := range namespaces {
		c.namespaces[ns] = Failure{}
	}
	return c
}

// With returns the coverage with one namespace's outcome set; nil means that it was read wholly. Cluster-scoped objects have the namespace "".
func (c Coverage) With(namespace string, f *Failure) Coverage {
	n := make(map[string]Failure, len(c.namespaces)+1)
	maps.Copy(n, c.namespaces)
	n[namespace] = Failure{}
	if f != nil {
		n[namespace] = *f
	}
	return Coverage{all: c.all, namespaces: n, elsewhere: c.elsewhere}
}

// Of says whether an object that was not yielded would have been, had it existed in that namespace ("" for cluster-scoped objects).
// Where it would not, the failure says why.
func (c Coverage) Of(namespace string) (Failure, bool) {
	if f, ok := c.namespaces[namespace]; ok {
		return f, f == Failure{}
	}
	return c.elsewhere, c.all
}

// Failures lists what failed: by namespace, and under "*" what holds for all others. It is empty for a complete coverage.
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
