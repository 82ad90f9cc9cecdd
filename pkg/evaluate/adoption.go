// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// NeverAdopted lists the reasons for which an object is not assigned to the bundle, independent of its owner. Those of
// the live object are known if Options.Predict is set.
func (d *BundleDeployment) NeverAdopted(x *Object) []string {
	var out []string
	if fleet.IsAgentBundle(d.Name) {
		out = append(out, "its bundle is one of Fleet's agent, which the manager applies itself")
	}
	if target := d.Options().TargetNamespace; !x.Namespaced && target != "" {
		out = append(out, fmt.Sprintf("it is cluster-scoped and the bundle has the targetNamespace %q: every deploy "+
			"fails", target))
	}
	out = append(out, d.scopeUnproven()...)
	if x.Live == nil {
		return out
	}
	if x.Live.Deleting {
		out = append(out, "it is being deleted")
	}
	if x.Live.Controller != "" {
		out = append(out, fmt.Sprintf("it is controlled by %s, which may delete or rewrite it at any time",
			x.Live.Controller))
	}
	return out
}

// HelmRefuses reports whether Helm refuses to install the release of the bundle because an object that Fleet counts as
// owned has Helm's marks of another release: that of a bundle whose release has another name now.
func (d *BundleDeployment) HelmRefuses(x *Object) bool {
	installed := d.Release.Revision > 0 || d.BD == nil
	owned := x.Live != nil && x.Metadata.Hash == d.Ownership.Hash
	return owned && !installed && x.Metadata.Release() != d.Ownership.Release()
}

// Uncertain is the reason why the rendered objects of the bundle are not certain, in a list; empty if they are, or are
// those of the release.
func (d *BundleDeployment) Uncertain() []string {
	if len(d.Rendering.Unresolved) == 0 || d.From != desired.FromBundle && d.From != desired.FromFiles {
		return nil
	}
	return []string{"the desired objects of its bundle are not certain: " + strings.Join(d.Rendering.Unresolved, "; ")}
}

// AdoptUncertain is Uncertain for the verb adopt without its flag --desired: it uses the objects of the release if
// there is one.
func (d *BundleDeployment) AdoptUncertain() []string {
	if d.From == desired.FromBundle && d.Release.Revision > 0 {
		return nil
	}
	return d.Uncertain()
}

// scopeUnproven explains why the set that would be written is not proven: a scope that is only declared, or that is
// disputed, is not written.
func (d *BundleDeployment) scopeUnproven() []string {
	const remedy = "; --agent-scope=VALUE sets the scope of the agent, '' sets none"
	switch s := d.Scope; {
	case s.Proven():
		return nil
	case s.Evidence == "":
		return []string{"the scope of the agent that deploys its bundle is not known: no running agent and no " +
			"release shows it" + remedy}
	case d.Dispute != "":
		return []string{d.Dispute + ", and no running agent shows which is right" + remedy}
	case s.Evidence == directory.EvidenceReleases && d.ReleaseOwnership.SetID == "":
		return []string{fmt.Sprintf("only %s show %s: no running agent does, and the bundle has no release of its own",
			s.Source, s) + remedy}
	case s.Evidence == directory.EvidenceDeclared:
		return []string{fmt.Sprintf("only %s says that the agent has %s: no running agent and no release shows it",
			s.Source, s) + remedy}
	}
	return nil
}
