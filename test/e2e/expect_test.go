// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// outcome is what matters of a result, in words.
type outcome struct {
	Status int
	// Deployments are the states of the BundleDeployments by name, with their reason: "Unknown Forbidden".
	Deployments map[string]string
	// Objects are the desired objects that are not Ready, and the orphaned: "configmap apps/settings" and "Unowned HashStripped".
	Objects map[string]string
	// Findings are codes with the object: "FD101 configmap apps/settings".
	Findings []string
	// Gaps are what could not be read, with the reason's first word: "listing Bundle objects: Forbidden".
	Gaps []string
}

// unsearched begins the gap of those who may not list every kind.
const unsearched = "searching for objects with the hash label"

func outcomeOf(r result) outcome {
	o := outcome{Status: r.status}
	if r.report == nil {
		return o
	}
	set := func(m *map[string]string, key string, words ...string) {
		if *m == nil {
			*m = map[string]string{}
		}
		(*m)[key] = strings.TrimSpace(strings.Join(words, " "))
	}
	for _, d := range r.report.BundleDeployments {
		set(&o.Deployments, d.Name, string(d.State), d.Reason)
		for _, res := range d.Resources {
			if res.State != report.Ready {
				set(&o.Objects, res.Key().String(), string(res.State), res.Reason)
			}
		}
	}
	for _, f := range r.report.Findings {
		o.Findings = append(o.Findings, f.Code+" "+f.Object.Key().String())
	}
	for _, g := range r.report.Gaps {
		what, reason := g.What, g.Why()
		if strings.HasPrefix(what, unsearched) {
			what = unsearched // in which kinds is a matter of the server's version
		}
		reason, _, _ = strings.Cut(reason, ":")
		o.Gaps = append(o.Gaps, what+": "+reason)
	}
	return o
}

// expect compares what matters of a result.
func expect(t *testing.T, r result, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want, outcomeOf(r)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s\nstderr: %s", diff, r.stderr)
	}
	if r.report == nil {
		return
	}
	var sum report.Counts
	for _, d := range r.report.BundleDeployments {
		c := d.Counts
		if got := c.Ready + c.Missing + c.Unowned + c.Modified + c.NotReady + c.Unknown; got != c.Desired {
			t.Errorf("%s: desired is %d, its parts sum up to %d", d.Name, c.Desired, got)
		}
		sum = sum.Plus(c)
	}
	if diff := cmp.Diff(sum, r.report.Summary.Counts); diff != "" {
		t.Errorf("summary is no sum (-want +got):\n%s", diff)
	}
}

// deployment finds a deployment in a report by its name.
func (r result) deployment(t *testing.T, name string) report.BundleDeployment {
	t.Helper()
	if r.report != nil {
		for _, d := range r.report.BundleDeployments {
			if d.Name == name {
				return d
			}
		}
	}
	t.Fatalf("there is no deployment %s in the report\nstderr: %s", name, r.stderr)
	return report.BundleDeployment{}
}

// begun is when the tests began, in whole seconds, as API servers state times.
var begun = time.Now().Truncate(time.Second)

// resource finds an object in a report: "configmap apps/settings". A time since the tests began becomes justNow.
func (r result) resource(t *testing.T, deployment, key string) report.Resource {
	t.Helper()
	for _, res := range r.deployment(t, deployment).Resources {
		if res.Key().String() != key {
			continue
		}
		for i := range res.Differences {
			d := &res.Differences[i]
			if at, err := time.Parse(time.RFC3339, d.Time); err == nil && !at.Before(begun) {
				d.Time = justNow
			}
		}
		return res
	}
	t.Fatalf("there is no %s in the report\nstderr: %s", key, r.stderr)
	return report.Resource{}
}

const justNow = "just now"

// finding finds the only finding of a code.
func (r result) finding(t *testing.T, code string) report.Finding {
	t.Helper()
	var found []report.Finding
	for _, f := range r.report.Findings {
		if f.Code == code {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d findings %s, want one: %+v", len(found), code, r.report.Findings)
	}
	return found[0]
}

// says holds that a text says all of this.
func says(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q: %s", what, w, text)
		}
	}
}
