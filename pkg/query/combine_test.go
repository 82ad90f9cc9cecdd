// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestAnswerUnknown: the answer about an object that is not known to be ready counts every deployment whose objects
// were not read.
func TestAnswerUnknown(t *testing.T) {
	unread := []report.WhyCause{{State: report.Unknown,
		Steps: []report.WhyStep{{Name: "web",
			Message: "its objects could not be read"}}, Deployments: make([]report.WhyDeployment, 1)}}
	for _, tc := range []struct {
		summary report.WhySummary
		causes  []report.WhyCause
		want    string
	}{
		{report.WhySummary{Deployments: 1, Ready: 1, FromStatus: 1}, nil,
			"Fleet reports it as Ready, and its objects were not read"},
		{report.WhySummary{Deployments: 3, Ready: 3, FromStatus: 3}, nil,
			"Fleet reports 3 of 3 bundle deployments as Ready, and their objects were not read"},
		{report.WhySummary{Deployments: 3, Ready: 3, FromStatus: 1}, nil,
			"the objects of 1 of 3 bundle deployments were not read, and Fleet reports it as Ready"},
		{report.WhySummary{Deployments: 3, Ready: 3, FromStatus: 2}, nil,
			"the objects of 2 of 3 bundle deployments were not read, and Fleet reports them as Ready"},
		{report.WhySummary{Deployments: 3, Ready: 2, FromStatus: 1, Unknown: 1}, unread,
			"2 of 3 bundle deployments are not known. The cause (1 bundle deployment) is web: its objects could not " +
				"be read"},
		{report.WhySummary{Deployments: 3, Ready: 2, Unknown: 1}, unread,
			"1 of 3 bundle deployments is not known. The cause is web: its objects could not be read"},
	} {
		o := report.WhyObject{Ref: object.Ref{Kind: "GitRepo", Name: "apps"}, State: report.Unknown,
			Summary: tc.summary, Causes: tc.causes}
		if got, want := answer(&o), "It is not known whether apps is ready: "+tc.want; got != want {
			t.Errorf("%+v: %q, want %q", tc.summary, got, want)
		}
	}
}

// TestOneCause checks that a chain and its root are one cause, as is a circle of dependencies, and that two reasons at
// one object are two.
func TestOneCause(t *testing.T) {
	step := func(kind check.StepKind, name, message string) report.WhyStep {
		return report.WhyStep{Kind: kind, Object: object.Ref{Kind: "BundleDeployment", Namespace: "one", Name: name},
			Name: name, Message: message}
	}
	chain := func(steps ...report.WhyStep) report.WhyCause { return report.WhyCause{Steps: steps} }
	const waits, circle = "it waits", "its dependencies lead back to itself"
	base := step(check.StepObjects, "base", "a is modified")
	for name, tc := range map[string]struct {
		causes []report.WhyCause
		want   int
	}{
		"a dependency and what waits for it": {[]report.WhyCause{chain(base),
			chain(step(check.StepDependency, "app", waits), base)}, 1},
		"two that wait for a dependency": {[]report.WhyCause{chain(step(check.StepDependency, "web", waits), base),
			chain(step(check.StepDependency, "app", waits), base)}, 1},
		"a circle": {[]report.WhyCause{
			chain(step(check.StepDependency, "a", waits), step(check.StepDependency, "b", waits),
				step(check.StepCycle, "a", circle)),
			chain(step(check.StepDependency, "b", waits), step(check.StepDependency, "a", waits),
				step(check.StepCycle, "b", circle))}, 1},
		"two reasons at one object": {[]report.WhyCause{chain(base),
			chain(step(check.StepRecord, "base", "its record is pending"))}, 2},
		"two objects": {[]report.WhyCause{chain(base), chain(step(check.StepObjects, "app", "a is modified"))}, 2},
	} {
		if got, _ := roots(tc.causes); got != tc.want {
			t.Errorf("%s: %d causes, want %d", name, got, tc.want)
		}
	}
}

// TestAnswerOfKind: the answers that depend on the kind of the object, or of its cause.
func TestAnswerOfKind(t *testing.T) {
	outdated := []report.WhyCause{{State: report.NotReady, Steps: []report.WhyStep{
		{Kind: check.StepOutdated, Name: "web", Message: "a later change, if there is one, is not deployed"}}}}
	for _, tc := range []struct {
		of   report.WhyObject
		want string
	}{
		{report.WhyObject{Ref: object.Ref{Kind: "Cluster", Name: "local"}, State: report.Ready},
			"local: no bundle is deployed to it"},
		{report.WhyObject{Ref: object.Ref{Kind: "Bundle", Name: "web"}, State: report.Ready},
			"web is deployed to no cluster"},
		{report.WhyObject{Ref: object.Ref{Kind: "Bundle", Name: "web"}, State: report.NotReady, Causes: outdated},
			"It is not known whether web is up to date: a later change, if there is one, is not deployed"},
	} {
		if got := answer(&tc.of); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.of.Kind, got, tc.want)
		}
	}
}
