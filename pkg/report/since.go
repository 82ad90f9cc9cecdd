// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// age is when the change was recorded that a finding reports: before a time, at or after it, or not at all.
type age int

const (
	since age = iota
	before
	unknown
)

// ages returns the function that compares the recorded change of a finding with a time (RFC 3339); without a time, all
// are since then. Only the fields that differ have the time of a change. It is not recorded when an object was deleted
// or lost a label, and the time of a status or of a heartbeat is not that of a change.
func (a *Audit) ages(from string) func(*Finding) age {
	limit, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return func(*Finding) age { return since }
	}
	type key struct {
		cluster, deployment string
		object              object.Ref
	}
	differences := map[key][]Difference{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		for _, r := range bd.Resources {
			differences[key{bd.Cluster, bd.Key(), r.Ref}] = r.Differences
		}
	}
	return func(f *Finding) age {
		if !codes.Is(f.Code, codes.DatedByField) {
			return unknown
		}
		on := f.PerCluster
		if len(on) == 0 {
			on = []ClusterFinding{{Cluster: f.Cluster, BundleDeployment: f.BundleDeployment}}
		}
		out := before
		for _, c := range on {
			switch changed(differences[key{c.Cluster, c.BundleDeployment, f.Object}], limit) {
			case since:
				return since
			case unknown:
				out = unknown
			}
		}
		return out
	}
}

// changed compares the newest time of differences with a limit.
func changed(all []Difference, limit time.Time) age {
	out := before
	if len(all) == 0 {
		out = unknown
	}
	for _, d := range all {
		at, err := time.Parse(time.RFC3339, d.Time)
		switch {
		case err != nil:
			out = unknown
		case !at.Before(limit):
			return since
		}
	}
	return out
}
