// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Affected are the live objects of one cluster that a deletion affects.
type Affected struct {
	// CustomResources are the numbers of objects of kinds that deleted CustomResourceDefinitions define. A kind that
	// could not be counted is absent.
	CustomResources map[schema.GroupKind]int
	// Claims are the PersistentVolumeClaims of the namespaces that may lose some.
	Claims         []VolumeClaim
	ClaimsCoverage source.Coverage
	// ReclaimPolicies are those of PersistentVolumes, by name. A volume that could not be read is absent.
	ReclaimPolicies map[string]string
	// Live are the releases ("namespace/name") of the live objects among those that are deleted, according to their
	// annotations; empty without one.
	Live map[object.Key]string
	// LiveCoverage reports, by kind, which of them were read.
	LiveCoverage map[schema.GroupKind]source.Coverage
}

// VolumeClaim is a PersistentVolumeClaim with the name of its PersistentVolume, which is empty if it is not bound.
type VolumeClaim struct{ Namespace, Name, Volume string }

// OfTemplate reports whether the claim is made from a template of a StatefulSet: its name is
// TEMPLATE-STATEFULSET-NUMBER.
func (c *VolumeClaim) OfTemplate(template, set string) bool {
	number, ok := strings.CutPrefix(c.Name, template+"-"+set+"-")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// Absent reports whether an object was looked for and does not exist.
func (a *Affected) Absent(ref object.Ref) bool {
	if a == nil {
		return false
	}
	if _, exists := a.Live[ref.Key()]; exists {
		return false
	}
	_, read := a.LiveCoverage[ref.Key().GroupKind()].Of(ref.Namespace)
	return read
}

// Reported are the objects that the status of a BundleDeployment lists. Its agent owns them.
type Reported struct {
	// Objects is the number of entries, Listed those of kinds whose deletion loses more than the object.
	Objects int
	Listed  []v1alpha1.ObjectKey
	// Truncated is true if the status says that its lists are not complete.
	Truncated bool
}
