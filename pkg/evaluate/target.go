// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Target is one named object, such as gitrepo/guestbook, or every object of its kind if it has no name. Kind is the
// name of one of Fleet's kinds in lower case.
type Target struct{ Kind, Name string }

// The kinds of targets.
const (
	TargetGitRepo          = "gitrepo"
	TargetHelmOp           = "helmop"
	TargetBundle           = "bundle"
	TargetCluster          = "cluster"
	TargetBundleDeployment = "bundledeployment"
)

// TargetKind returns the kind of Fleet and its resource, such as "Bundle" and "bundles.fleet.cattle.io", for a word
// that kubectl accepts for it; "" for any other word, and for ClusterGroups, which are no targets.
func TargetKind(word string) (kind, resource string) {
	for _, k := range state.Subjects {
		name, group := strings.ToLower(k.Name), "."+v1alpha1.GroupVersion.Group
		names := append([]string{name, name + group, k.Resource, k.Resource + group}, k.ShortNames...)
		if k.Name != state.ClusterGroup && slices.Contains(names, strings.ToLower(word)) {
			return k.Name, k.Resource + group
		}
	}
	return "", ""
}

// String returns the target as the user types it.
func (t Target) String() string {
	if t.Name == "" {
		return t.Kind
	}
	return t.Kind + "/" + t.Name
}

func (t Target) is(kind string) bool { return t.Kind == strings.ToLower(kind) }

// Names reports whether the target is the bundle deployment, or one of its parents.
func (t Target) Names(d *directory.Deployment) bool {
	if t.is(state.BundleDeployment) {
		return t.Name == "" || d.Named(t.Name)
	}
	key := ""
	for kind, parent := range d.Parents() {
		if t.is(kind) {
			key = parent
		}
	}
	return key != "" && t.matches(key)
}

// matches reports whether the target's name is "namespace/name", or its end.
func (t Target) matches(key string) bool {
	return t.Name == "" || key == t.Name || strings.HasSuffix(key, "/"+t.Name)
}
