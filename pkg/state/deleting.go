// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// Deleting is one of Fleet's objects that is being deleted.
type Deleting struct {
	Kind, Namespace, Name string
	Since                 time.Time
	Finalizers            []string
}

// Deleting returns Fleet's objects that are being deleted, by kind, in the order in which they were read.
func (f *Fleet) Deleting() []Deleting {
	var out []Deleting
	for _, kind := range Kinds {
		if kind.Name == ClusterGroup {
			continue // it has no finalizer
		}
		for _, o := range kind.Of(f) {
			if at := o.GetDeletionTimestamp(); at != nil {
				out = append(out, Deleting{kind.Name, o.GetNamespace(), o.GetName(), at.Time, o.GetFinalizers()})
			}
		}
	}
	return append(out, f.Contents.Deleting...)
}

// RemoverOf returns the Deployment in Fleet's system namespace that removes a finalizer of an object; empty if it is
// not one of Fleet.
func (d *Deleting) RemoverOf(finalizer string) string {
	switch finalizer {
	case "fleet.cattle.io/gitrepo-finalizer":
		return fleet.GitJobName
	case "fleet.cattle.io/helmop-finalizer":
		return fleet.HelmOpsName
	case "fleet.cattle.io/bundle-finalizer", "fleet.cattle.io/bundle-deployment-finalizer",
		"fleet.cattle.io/cluster-finalizer":
		return fleet.ControllerName
	}
	if d.Kind == Content { // up to 0.14.0, it has one for each BundleDeployment
		return fleet.ControllerName
	}
	return ""
}

// AddWorkload adds the Deployment of one of Fleet's controllers, given as JSON.
func (f *Fleet) AddWorkload(raw []byte) error {
	_, name, w, err := readWorkload(kindDeployment, raw)
	if err == nil {
		put(&f.Controllers, name, &w)
	}
	return err
}
