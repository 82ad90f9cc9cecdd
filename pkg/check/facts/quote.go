// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"iter"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// failing are the statuses with which a condition states an error, by its type.
var failing = map[string]string{"Ready": "False", "Installed": "False", "Deployed": "False", "Monitored": "False",
	"Accepted": "False", "Polled": "False", "GitPolling": "False", "Imported": "False", "Processed": "False",
	"Stalled": "True"}

// errorIn returns the message of a condition that states an error; empty if it states none.
func errorIn(conditions []v1alpha1.Condition, kind string) string {
	c := ConditionOf(conditions, kind)
	if c.Status != failing[kind] {
		return ""
	}
	return c.Message
}

// Quotable iterates over all texts that findings, and the explanations of the objects of Fleet, can quote.
func (f *Facts) Quotable() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, k := range state.Kinds {
			for _, o := range k.Of(f.Result.Desired.Fleet) {
				for _, text := range errorsOf(o) {
					if !yield(text) {
						return
					}
				}
			}
		}
		for _, d := range f.Result.Deployments {
			for i := range d.Objects {
				for _, text := range []string{d.Objects[i].Trial.Refusal, d.Objects[i].Trial.Warnings} {
					if text != "" && !yield(text) {
						return
					}
				}
			}
		}
		for _, c := range f.Result.Desired.Clusters {
			for _, r := range c.State.Latest {
				if !yield(r.Description) {
					return
				}
			}
		}
		for _, d := range f.Result.Desired.Deployments {
			for _, p := range d.RecordProblems {
				if !yield(p.Reported) {
					return
				}
			}
		}
	}
}

// errorsOf returns all errors in the status of an object.
func errorsOf(o v1alpha1.Object) []string {
	var out []string
	for kind := range failing {
		if text := errorIn(ConditionsOf(o), kind); text != "" {
			out = append(out, text)
		}
	}
	if bd, ok := o.(*v1alpha1.BundleDeployment); ok {
		for _, r := range bd.Status.NonReadyStatus {
			out = append(out, r.Words())
		}
	}
	return out
}

// Quote returns a reference to a text that may quote Secrets of some places, as the end of a sentence: ": TEXT";
// empty without a text.
func (f *Facts) Quote(text string, places ...secret.Place) string {
	if text == "" {
		return ""
	}
	return ": " + f.Quotations.Add(text, places...)
}

// Said returns the error in a condition of an object, as the end of a sentence; empty without an error. It may quote
// the Secrets with which Fleet clones a repository, loads a chart or computes values.
func (f *Facts) Said(o v1alpha1.Object, kind string) string {
	text := errorIn(ConditionsOf(o), kind)
	b, ok := o.(*v1alpha1.Bundle)
	if ok && b.Spec.ValuesHash == "" {
		return f.Quote(text)
	}
	return f.Quote(text, secret.Place{Namespace: o.GetNamespace()})
}

// Errors returns the errors in conditions of an object, as sentences.
func (f *Facts) Errors(o v1alpha1.Object, kinds ...string) []string {
	var out []string
	for _, kind := range kinds {
		if text := f.Said(o, kind); text != "" {
			out = append(out, "its condition "+kind+text)
		}
	}
	return slices.Compact(out)
}

// SaidOf returns the error in a condition of a bundle deployment, as the end of a sentence; empty without an error.
func (f *Facts) SaidOf(d *directory.Deployment, kind string) string {
	return f.Quote(errorIn(d.BD.Status.Conditions, kind), f.SecretsOf(d)...)
}

// ReportedOf returns the sentences that Fleet reports about an object of a bundle deployment that is not ready; empty
// without any.
func (f *Facts) ReportedOf(d *directory.Deployment, o *v1alpha1.NonReadyStatus) string {
	return f.Quote(o.Words(), f.SecretsOf(d)...)
}

// SecretsOf returns the places of the Secrets that an error about a bundle deployment may quote: those of its values,
// and all of its release. API servers never quote the data of a Secret. An error on a cluster that is not read can
// therefore only have values that Helm read there.
func (f *Facts) SecretsOf(d *directory.Deployment) []secret.Place {
	var out []secret.Place
	if d.BD != nil && ownSecrets(&d.BD.Spec) {
		out = append(out, secret.Place{Namespace: d.Namespace})
	}
	cluster := f.Result.Desired.IndexOf(d)
	if cluster >= 0 {
		namespace := cmp.Or(d.Ownership.ReleaseNamespace, d.Options().ReleaseNamespace())
		out = append(out, secret.Place{Cluster: cluster, Namespace: namespace})
	}
	for _, ref := range d.ValuesSecrets() {
		out = append(out, secret.Place{Cluster: cluster, Namespace: ref.Namespace})
	}
	return out
}

// ownSecrets reports whether a BundleDeployment has Secrets in its namespace: values, or credentials for a registry.
func ownSecrets(s *v1alpha1.BundleDeploymentSpec) bool {
	return s.ValuesHash != "" || s.OCIContents || len(s.HelmChartOptions) > 0
}
