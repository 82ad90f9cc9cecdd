// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// refusedRepo returns the GitRepo ("namespace/name") over which Helm refuses to deploy; empty if it is another object.
func refusedRepo(words string) string {
	m := refusedObject.FindStringSubmatch(words)
	if m == nil {
		return ""
	}
	namespace, name, kind := nameOf(m)
	if kind != state.GitRepo {
		return ""
	}
	return namespace + "/" + name
}

// ofOwnRepo says that the GitRepo of a bundle deployment is an object of it.
func ofOwnRepo(d *directory.Deployment) string {
	return "GitRepo " + d.GitRepo + " is an object of its own bundle: the state of each is part of that of the " +
		"other, and deleting the bundle deletes it"
}

// isOwnRepo reports whether an object of a bundle deployment is the GitRepo of it.
func isOwnRepo(d *directory.Deployment, o *evaluate.Object) bool {
	return o.Key() == facts.Named(state.GitRepo, d.GitRepo).Key()
}

// said is the message of an object that is not ready. That of a GitRepo repeats itself if it is one of its own bundle.
func said(d *directory.Deployment, o *evaluate.Object) string {
	if !isOwnRepo(d, o) {
		return o.Message
	}
	before, _, _ := strings.Cut(o.Message, o.Key().String())
	return strings.TrimRight(before, "; ")
}

// adopted reports whether the GitRepo over which Helm refused to deploy has been assigned to the bundle since then.
func (in *Input) adopted(d *directory.Deployment, words string) bool {
	g := in.Facts.GitRepo(refusedRepo(words))
	if g == nil {
		return false
	}
	class, _ := ownership.Classify(ownership.MetadataOf(g.Labels, g.Annotations), d.Ownership)
	return class == ownership.Owned
}
