// SPDX-License-Identifier: Apache-2.0

// Package check turns the result of an evaluation into findings. There is one file for each check, with its stable code. The documentation is
// generated from the catalogue of the checks. A check is a pure function of the Input.
package check

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// Input is what the checks read: the result of an evaluation, and the commands that findings suggest.
type Input struct {
	*evaluate.Result
	Commands Commands
}

// Severity of a finding.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is one thing that is wrong, or worth knowing.
type Finding struct {
	Code     string
	Severity Severity
	Title    string
	Object   object.Ref
	Cluster  string // "namespace/name"
	// BundleDeployment is the key of the bundle deployment that the finding is about; empty if it is about none.
	BundleDeployment string
	Message          string
	Evidence         []string
	Remediation      string
	AsOf             string
}

// Commands are the beginnings of the commands that findings suggest. They name the cluster that was audited, so that a command that is pasted
// into a shell never writes to another cluster.
type Commands struct {
	// Audit repeats this audit, without its scope: "kubectl fleetdoctor audit --snapshot dump.tgz". PrintRole prints the role that the audit
	// needs; Adopt and Preflight read the same source.
	Audit, PrintRole, Adopt, Preflight string
	// Files are the arguments that name the directory of a bundle: "-f guestbook".
	Files string
	// Kubectl and Helm are "kubectl --context prod", "helm --kube-context prod".
	Kubectl, Helm string
}

// CommandsOf returns the commands for the current cluster of the user. program is how the program is called: "kubectl fleetdoctor".
func CommandsOf(program string) Commands {
	return Commands{Audit: program + " audit", PrintRole: program + " audit --print-rbac", Adopt: program + " adopt", Preflight: program + " preflight", Kubectl: "kubectl", Helm: "helm"}
}

// Check is one entry of the catalogue.
type Check struct {
	Code     string
	Name     string
	Severity Severity
	Title    string
	// Explain describes in a few sentences the meaning, the causes and the remedy.
	Explain string
	run     func(*Input) []Finding
}

// Catalogue lists the checks in the order of their codes.
func Catalogue() []Check {
	all := []Check{
		missing, unowned, contested, modified, orphaned, abandoned, notReady, idMismatch, copiedHash, expiredJob,
		clusterCounts, groupCounts, truncated, frozen, scopeUnproven, releaseRecord, leftoverRelease, unread, secretInStatus,
	}
	slices.SortFunc(all, func(a, b Check) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

// Run runs every check and returns the findings of all.
func Run(in *Input) []Finding {
	var out []Finding
	for _, check := range Catalogue() {
		for _, f := range check.run(in) {
			f.Code, f.Severity, f.Title = check.Code, check.Severity, check.Title
			out = append(out, f)
		}
	}
	return out
}

// each returns the findings that finding makes of the desired objects; nil is no finding.
func (in *Input) each(finding func(*evaluate.BundleDeployment, *evaluate.Object) *Finding) []Finding {
	var out []Finding
	for _, d := range in.Deployments {
		for i := range d.Objects {
			if f := finding(d, &d.Objects[i]); f != nil {
				f.Object, f.Cluster, f.BundleDeployment = d.Objects[i].Ref, d.Cluster, d.Key()
				out = append(out, *f)
			}
		}
	}
	return out
}

// ofState returns one finding for each desired object in a state.
func (in *Input) ofState(s evaluate.State, finding func(*evaluate.BundleDeployment, *evaluate.Object) Finding) []Finding {
	return in.each(func(d *evaluate.BundleDeployment, o *evaluate.Object) *Finding {
		if o.State != s {
			return nil
		}
		f := finding(d, o)
		return &f
	})
}

// onDeployment returns a finding about a deployment itself, without message.
func onDeployment(d *evaluate.BundleDeployment) Finding {
	return Finding{Object: d.Ref(), Cluster: d.Cluster, BundleDeployment: d.Key(), AsOf: asOf(d)}
}

// BundleArgs are the arguments that name a deployment's bundle on our command line.
func (c Commands) BundleArgs(d *resolve.BundleDeployment) string {
	if d.FromFiles() {
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

// asOf returns when the status of a BundleDeployment was last written, "" if that is not known.
func asOf(d *evaluate.BundleDeployment) string {
	if d.BD == nil {
		return ""
	}
	return d.BD.Reported().AsOf
}
