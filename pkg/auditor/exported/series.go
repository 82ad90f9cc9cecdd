// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"strings"

	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// prefix begins the name of each metric of an auditor.
const prefix = "fleetdoctor_"

// The metrics that are read, without the prefix. Those of the levels above the bundle deployments begin with the name
// of the level.
const (
	synced         = "auditor_synced"
	leader         = "auditor_leader"
	lastEvaluation = "auditor_last_evaluation_timestamp_seconds"
	auditorGaps    = "auditor_gaps"

	deploymentState = "bundledeployment_state"
	desiredObjects  = "bundledeployment_desired_objects"
	objects         = "bundledeployment_objects"
	reportedState   = "bundledeployment_reported_state"
	reportedDesired = "bundledeployment_reported_desired_objects"
	reportedObjects = "bundledeployment_reported_objects"
	pending         = "bundledeployment_pending"
	objectState     = "object_state"
	unnamedObjects  = "unnamed_objects"
	finding         = "finding"
	unnamedFindings = "unnamed_findings"
)

// labels returns the values of labels.
type labels model.Metric

// of returns the value of a label, which may be that of another program, for one line.
func (l labels) of(name string) string { return escape.Line(string(l[model.LabelName(name)])) }

// key is "namespace/name" of two labels; the name alone without a namespace.
func (l labels) key(namespace, name string) string {
	return strings.TrimPrefix(l.of(namespace)+"/"+l.of(name), "/")
}

// series is one series of an auditor. Its value is a whole number.
type series struct {
	labels
	name  string // without the prefix
	value int
}

// refOf returns the reference of the object that labels name. The version of its API is known only of the core group
// and of Fleet's.
func refOf(l labels) object.Ref {
	out := object.Ref{APIVersion: l.of("api_group") + "/", Kind: l.of("kind"), Namespace: l.of("object_namespace"),
		Name: l.of("object")}
	switch out.APIVersion {
	case "/":
		out.APIVersion = "v1"
	case v1alpha1.GroupVersion.Group + "/":
		out.APIVersion = v1alpha1.GroupVersion.String()
	}
	return out
}
