// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Settled returns the facts after questions were answered. What the answers contradict is not a fact.
func (f *Facts) Settled(answers settle.Answers) *Facts {
	out := f.With(f.Result.WithGaps(answers.Gaps))
	out.answers = answers
	return out
}

// With returns the facts of the same result with other gaps. No fact depends on them.
func (f *Facts) With(r *evaluate.Result) *Facts {
	out := *f
	out.Result = r
	return &out
}

// Holds reports whether no answer contradicts what depends on questions.
func (f *Facts) Holds(questions []settle.Question) bool { return f.answers.Hold(questions) }

// Unchanged asks whether some of Fleet's objects, present or absent, are as they were. The controller updates a
// BundleDeployment all the time, so only its identity counts.
func (f *Facts) Unchanged(refs ...object.Ref) []settle.Question {
	var out []settle.Question
	for _, ref := range refs {
		aspect := settle.Spec
		if ref.Kind == state.BundleDeployment {
			aspect = settle.Identity
		}
		out = append(out, f.same(aspect, ref))
	}
	return out
}

// SameNumbers asks whether the numbers of some of Fleet's objects are as they were.
func (f *Facts) SameNumbers(refs ...object.Ref) []settle.Question {
	var out []settle.Question
	for _, ref := range refs {
		out = append(out, f.same(settle.Numbers, ref))
	}
	return out
}

// SameValues asks whether a values Secret and what its owner states are as they were.
func (f *Facts) SameValues(key state.ValuesKey, owner object.Ref) []settle.Question {
	secret := settle.Absent(object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: key.Namespace, Name: key.Name})
	if s := f.Result.Desired.Values.Of(key); s != nil {
		secret.Aspect, secret.Was = settle.Version, settle.VersionOf(s.Version)
	}
	secret.Type = key.Type
	return []settle.Question{f.same(settle.Spec, owner), secret}
}

// SameContent asks whether a BundleDeployment still needs a Content that does not exist.
func (f *Facts) SameContent(bd *v1alpha1.BundleDeployment) []settle.Question {
	return append(f.StillStaged(bd), settle.Absent(Ref(state.Content, "", state.ContentID(bd))))
}

// StillStaged asks whether the spec of a BundleDeployment is as it was.
func (f *Facts) StillStaged(bd *v1alpha1.BundleDeployment) []settle.Question {
	return []settle.Question{f.same(settle.Spec, Ref(state.BundleDeployment, bd.Namespace, bd.Name))}
}

func (f *Facts) same(aspect settle.Aspect, ref object.Ref) settle.Question {
	if o, exists := f.objects[ref]; exists {
		return aspect.Same(ref, o)
	}
	return settle.Absent(ref)
}
