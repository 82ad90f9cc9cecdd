// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"slices"
	"strings"
)

// Decide applies a policy. takeFrom lists names of owners that the policy does not protect. It returns the situation
// that the answer depends on. The error is a *RefusalError.
func (r Result) Decide(p Policy, takeFrom []string) (Situation, error) {
	refusal := &RefusalError{Result: r}
	for _, o := range r.Owners {
		if slices.ContainsFunc(o.Names(), func(name string) bool { return slices.Contains(takeFrom, name) }) {
			continue
		}
		switch answer(p, o.Situation) {
		case Leave:
			refusal.Conflicts = append(refusal.Conflicts, Conflict{o, IfUnowned})
		case OnlyNamed:
			refusal.Conflicts = append(refusal.Conflicts, Conflict{Owner: o})
		}
	}
	if !r.Same && answer(p, Differs) != Take {
		refusal.Conflicts = append(refusal.Conflicts, Conflict{Owner{Situation: Differs}, IfUnowned})
	}
	switch {
	case len(refusal.Conflicts) > 0:
		return refusal.Conflicts[0].Situation, refusal
	case len(r.Owners) == 0:
		return r.own(), nil
	}
	return r.Owners[0].Situation, nil
}

// own is the situation of an object without other owners.
func (r Result) own() Situation {
	switch r.Class {
	case HelmOnly:
		return OwnRelease
	case HashStripped, Inconsistent:
		return OwnID
	}
	return NoMetadata
}

// RefusalError is the error of a change of owner that a policy does not allow.
type RefusalError struct {
	Result
	// Conflicts are all owners that the policy protects.
	Conflicts []Conflict
}

// Error implements error.
func (r *RefusalError) Error() string {
	owners := make([]string, len(r.Conflicts))
	for i, c := range r.Conflicts {
		owners[i] = c.Describe()
	}
	return fmt.Sprintf("%s %s", r.Object, strings.Join(owners, "; "))
}

// Conflict is an owner that a policy protects.
type Conflict struct {
	Owner
	// AllowedBy is the policy that does not protect the owner; "" if all policies do.
	AllowedBy Policy
}
