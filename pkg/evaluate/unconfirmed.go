// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Unconfirmed is the reason of the state Unknown for an object that only a release record of another namespace desires,
// if nothing confirms that record.
const Unconfirmed = "Unconfirmed"

// unconfirmed makes an object Unknown. What was observed of it shows nothing about the bundle.
func (o *Object) unconfirmed(d *desired.BundleDeployment) {
	*o = Object{Ref: o.Ref, Deployment: o.Deployment, Namespaced: o.Namespaced, Document: o.Document, Alone: o.Alone,
		index: o.index, State: Unknown, Reason: Unconfirmed,
		Message: "only the record of release " + d.Release.String() + " desires it, and nothing outside of namespace " +
			d.Release.Namespace + " confirms the record"}
}

// HasResult reports whether one of the desired objects has a result, or none is desired. Objects of a record that is
// not confirmed have one: they were read, and the record decides nothing about them.
func (d *BundleDeployment) HasResult() bool {
	return len(d.Objects) == 0 || slices.ContainsFunc(d.Objects, func(o Object) bool {
		return o.State != Unknown || o.Reason == Unconfirmed
	})
}

// certain reports whether a release desires a live object with the metadata m, as far as this object shows. Other
// objects may still confirm the record of one that is not certain.
func (e *Evaluator) certain(desired []*desired.Object, m *object.Meta) bool {
	for _, o := range desired {
		evidence := e.cluster.Deployment(o.Deployment).Evidence()
		if !evidence.Trusted {
			evidence.Add(o.Key(), ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations))
		}
		if evidence.Confirms(o.Key()) {
			return true
		}
	}
	return false
}

// EvidenceOf returns what live objects show about the release records that need it, by bundle deployment.
func EvidenceOf(deployments []*BundleDeployment) map[object.DeploymentID]ownership.Evidence {
	out := map[object.DeploymentID]ownership.Evidence{}
	for _, d := range deployments {
		if !d.Evidence.Trusted {
			out[d.ID()] = d.Evidence
		}
	}
	return out
}
