// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// outcome is the part of a result that tests compare.
type outcome struct {
	Status int
	// Deployments has the state and reason of each BundleDeployment by name: "Unknown Forbidden".
	Deployments map[string]string
	// Objects has the state and reason of each object that is not Ready: "configmap apps/settings" and "Unowned
	// HashStripped".
	Objects map[string]string
	// Findings has each code with its object: "FD101 configmap apps/settings".
	Findings []string
	// Gaps has what could not be read, with the first part of the reason: "listing Bundle objects: Forbidden".
	Gaps []string
}

// numberCodes are the codes of findings about the numbers in Fleet's statuses.
var numberCodes = []string{"FD201", "FD202", "FD203", "FD204", "FD205"}

// unsearched is the start of the gap of users who may not list every kind.
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
		// No Fleet runs here, so the numbers in the statuses stay those of a ready bundle. TestNumbers checks them.
		if slices.Contains(numberCodes, f.Code) {
			continue
		}
		o.Findings = append(o.Findings, f.Code+" "+f.Object.Key().String())
	}
	for _, g := range r.report.Gaps {
		what, reason := g.What, g.Why()
		if strings.HasPrefix(what, unsearched) {
			what = unsearched // the number of kinds depends on the server's version
		}
		reason, _, _ = strings.Cut(reason, ":")
		o.Gaps = append(o.Gaps, what+": "+reason)
	}
	return o
}

// expect compares an outcome, and checks that the counts of a report add up.
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
			t.Errorf("%s: desired is %d, and the sum of the states is %d", d.Name, c.Desired, got)
		}
		sum = sum.Plus(c)
	}
	if diff := cmp.Diff(sum, r.report.Summary.Counts); diff != "" {
		t.Errorf("the summary is not the sum of the bundle deployments (-want +got):\n%s", diff)
	}
}

// deployment finds a bundle deployment in a report by its name.
func (r result) deployment(t *testing.T, name string) report.BundleDeployment {
	t.Helper()
	if r.report != nil {
		for _, d := range r.report.BundleDeployments {
			if d.Name == name {
				return d
			}
		}
	}
	t.Fatalf("no bundle deployment %s in the report\nstderr: %s", name, r.stderr)
	return report.BundleDeployment{}
}

// testStart is the start of the tests in whole seconds, as API servers state times.
var testStart = time.Now().Truncate(time.Second)

// resource finds an object in a report, such as "configmap apps/settings". A time after testStart becomes justNow.
func (r result) resource(t *testing.T, deployment, key string) report.Resource {
	t.Helper()
	for _, res := range r.deployment(t, deployment).Resources {
		if res.Key().String() != key {
			continue
		}
		for i := range res.Differences {
			d := &res.Differences[i]
			if at, err := time.Parse(time.RFC3339, d.Time); err == nil && !at.Before(testStart) {
				d.Time = justNow
			}
		}
		return res
	}
	t.Fatalf("no %s in the report\nstderr: %s", key, r.stderr)
	return report.Resource{}
}

const justNow = "just now"

// finding returns the only finding with a code.
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

// expectContains checks that a text contains all of these words.
func expectContains(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not contain %q: %s", what, w, text)
		}
	}
}
