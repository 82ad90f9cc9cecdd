// SPDX-License-Identifier: Apache-2.0

// Package check turns what was found out into findings. There is one file a check, each with its stable code, and one catalogue of them,
// from which the documentation is made. A check is a pure function of the Case.
package check

import (
	"cmp"
	"slices"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Case is all that an audit found out.
type Case struct {
	Inventory *inventory.Inventory
	// Deployments are those in scope.
	Deployments []*Deployment
	// Marked are the live objects that carry a hash and are desired by no release.
	Marked   []Marked
	Commands Commands
	// Now is when the data was taken; zero where that is not known.
	Now time.Time
	// Whole says that everything was in scope. It is false where the files of one bundle are the scope.
	Whole bool
	// DeploymentsRead says whether every BundleDeployment of a namespace was read.
	DeploymentsRead func(namespace string) bool
	// RecordsRead says whether every release record of a namespace was read.
	RecordsRead func(namespace string) bool
}

// Commands begin the commands that findings suggest. They lead to the cluster that was audited, whichever is the current one: a command that
// is pasted into a shell must not write to another.
type Commands struct {
	// Audit repeats this audit, without its scope: "kubectl fleetdoctor audit --snapshot dump.tgz". PrintRole prints the role for it; Adopt
	// and Preflight plan and foretell for the same source.
	Audit, PrintRole, Adopt, Preflight string
	// Files are the arguments that name the directory which a bundle was taken from: "-f guestbook".
	Files string
	// Kubectl and Helm are "kubectl --context prod", "helm --kube-context prod".
	Kubectl, Helm string
}

// CommandsOf are the commands for the current cluster of whoever types them, given how the program is called: "kubectl fleetdoctor".
func CommandsOf(program string) Commands {
	return Commands{Audit: program + " audit", PrintRole: program + " audit --print-rbac", Adopt: program + " adopt", Preflight: program + " preflight", Kubectl: "kubectl", Helm: "helm"}
}

// Deployment is one deployment with what is true of its objects.
type Deployment struct {
	*inventory.Deployment
	Objects []Object
	Counts  report.Counts
	State   report.State
	// ServerSide says that Helm applies its next deploy on the server's side; see Case.ServerSide.
	ServerSide bool
}

// Object is one desired object and what became of it.
type Object struct {
	*inventory.Want
	State   report.State
	Reason  string
	Message string
	// Metadata is the ownership metadata of the live object, where there is one.
	Metadata    ownership.Metadata
	IDMismatch  bool
	Owner       *report.Owner
	Differences []report.Difference
	// NotReady says that the object is not ready, also where its state is another one.
	NotReady  bool
	Condition string
	// TTLAfterFinished is, of a missing Job, the spec.ttlSecondsAfterFinished that its manifest states; nil where it states none.
	TTLAfterFinished *int64
	// Live is what adopting an object takes; nil unless an audit was asked to foresee, and there is a live object.
	Live *Live
}

// Live is what is known of a live object beside its marks.
type Live struct {
	UID, ResourceVersion string
	// Stamps are its five keys.
	Stamps   ownership.Stamps
	Deleting bool
	// Controller is "Kind name" of the object that controls it.
	Controller string
	// Keep says that Helm leaves it where it is when its release is uninstalled, OwnedSet that its set has an owner of its own.
	Keep, OwnedSet bool
	// LastApplied are, of an unowned object, the paths that its last-applied annotation states, the bundle does not, and the object has: Fleet calls them modified.
	LastApplied []string
}

// Marked is a live object with a hash that no release desires.
type Marked struct {
	object.Ref
	Metadata ownership.Metadata
	// NoPrune says that the object is marked to be left alone, Controlled that another object controls it, Owned that its set has an owner.
	NoPrune, Controlled, Owned bool
	Controller                 string // "kind name" of the controlling object
}

// Check is one entry of the catalogue.
type Check struct {
	Code     string
	Name     string
	Severity report.Severity
	Title    string
	// Explain says what it means, what causes it and what to do, in a few sentences.
	Explain string
	run     func(*Case) []report.Finding
}

// Catalogue lists the checks in the order of their codes.
func Catalogue() []Check {
	all := []Check{
		missing, unowned, contested, modified, orphaned, abandoned, notReady, idMismatch, copiedHash, expiredJob,
		clusterCounts, truncated, frozen, scopeUnproven, releaseRecord, leftoverRelease, unread, secretInStatus,
	}
	slices.SortFunc(all, func(a, b Check) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

// Run runs every check and returns the findings of all.
func Run(c *Case) []report.Finding {
	var out []report.Finding
	for _, check := range Catalogue() {
		for _, f := range check.run(c) {
			f.Code, f.Severity, f.Title = check.Code, check.Severity, check.Title
			out = append(out, f)
		}
	}
	return out
}

// each makes findings of the desired objects that pick takes.
func (c *Case) each(pick func(*Deployment, *Object) *report.Finding) []report.Finding {
	var out []report.Finding
	for _, d := range c.Deployments {
		for i := range d.Objects {
			if f := pick(d, &d.Objects[i]); f != nil {
				f.Object, f.Cluster, f.BundleDeployment = d.Objects[i].Ref, d.Cluster, d.Key()
				out = append(out, *f)
			}
		}
	}
	return out
}

// ofState makes findings of the desired objects in one state.
func (c *Case) ofState(s report.State, finding func(*Deployment, *Object) report.Finding) []report.Finding {
	return c.each(func(d *Deployment, o *Object) *report.Finding {
		if o.State != s {
			return nil
		}
		f := finding(d, o)
		return &f
	})
}

// onDeployment begins a finding on a deployment itself.
func onDeployment(d *Deployment) report.Finding {
	return report.Finding{Object: d.Ref(), Cluster: d.Cluster, BundleDeployment: d.Key(), AsOf: AsOf(d.BD)}
}

// BundleArgs are the arguments that name a deployment's bundle on our command line.
func (c Commands) BundleArgs(d *inventory.Deployment) string {
	if d.Given != nil {
		return c.Files
	}
	if d.BD == nil {
		return shellescape.Quote("bundledeployment/" + d.Name)
	}
	workspace, name := split(d.Bundle)
	if workspace == "" {
		return shellescape.Quote("bundledeployment/" + d.Key())
	}
	return shellescape.Quote("bundle/"+name) + " -n " + shellescape.Quote(workspace)
}
