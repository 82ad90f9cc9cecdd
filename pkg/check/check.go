// SPDX-License-Identifier: Apache-2.0

// Package check turns the result of an evaluation into findings. There is one file for each check, with its stable code. The documentation is
// generated from the catalogue of the checks. A check is a pure function of the Input.
package check

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/texts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Input is what the checks read: the facts, and the commands that findings suggest.
type Input struct {
	*Maker
}

// Maker makes the commands that findings suggest.
type Maker struct {
	*Facts
	// Commands are those of the management cluster, ClusterCommands those of each other cluster that is read.
	Commands        Commands
	ClusterCommands map[object.ClusterID]Commands
}

// New returns the input of the checks.
func New(f *Facts, commands Commands, ofClusters map[object.ClusterID]Commands) *Input {
	return &Input{Maker: &Maker{Facts: f, Commands: commands, ClusterCommands: ofClusters}}
}

// on returns the commands for objects on a cluster. They are those of the management cluster if the cluster is not read.
func (m *Maker) on(c *directory.Cluster) Commands {
	if c == nil {
		return m.Commands
	}
	if commands, ok := m.ClusterCommands[c.ID]; ok {
		return commands
	}
	return m.Commands
}

// clusterName returns the name of a cluster if several are read, otherwise the empty string.
func (f *Facts) clusterName(c *directory.Cluster) string {
	if len(f.Clusters) == 0 {
		return ""
	}
	if found := c.FleetClusters(); len(found) > 0 {
		return found[0]
	}
	for _, other := range f.Clusters {
		if other.On == c {
			return other.Name
		}
	}
	return ""
}

// Severity of a finding.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is one problem, or one piece of information.
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
	// Aspect distinguishes the finding from others of the same code about the same object: a number, a record, a condition. It never depends on the words of
	// a message. It is empty if a check reports an object once.
	Aspect string
	// Remedies are ways to proceed, the safest one first. Every finding has one.
	Remedies []Remedy
	AsOf     string
	// DependsOn are objects of Fleet, present or absent, from which the finding follows. If one of them changes while a cluster is read, the finding is
	// not certain.
	DependsOn []object.Ref
	// Compares are the objects of Fleet of which numbers are compared, if the difference may be one that Fleet is about to correct: then the objects
	// change.
	Compares []object.Ref
	// Cause is why a number is wrong, for findings about numbers; empty for others.
	Cause Cause
}

// Commands are the beginnings of the commands that findings suggest. They name the cluster that was audited, so that a command that is pasted
// into a shell never writes to another cluster.
type Commands struct {
	// Audit repeats this audit, without its scope: "kubectl fleetdoctor audit --snapshot dump.tgz". PrintRole prints the role that the audit
	// needs; Adopt, Preflight, Targets and Why read the same source.
	Audit, PrintRole, Adopt, Preflight, Targets, Why string
	// Files are the arguments that name the directory of a bundle: "-f guestbook".
	Files string
	// Downstream is true if the commands read a cluster without its management cluster: they name a bundle by its id.
	Downstream bool
	// Kubectl and Helm are "kubectl --context prod", "helm --kube-context prod". For a captured cluster they may have a
	// placeholder for the context, which a shell refuses.
	Kubectl, Helm string
}

// Check is one entry of the catalogue.
type Check struct {
	Code     string
	Name     string
	Severity Severity
	Title    string
	run      func(in *Input, report func(Finding))
}

// Text returns what users read about the code, in addition to its title. The tests prove that each code has a text.
func (c Check) Text() texts.Text {
	text, err := texts.Of(c.Code)
	if err != nil {
		return texts.Text{}
	}
	return text
}

// Catalogue lists the checks in the order of their codes.
func Catalogue() []Check {
	return []Check{
		missing, unowned, contested, modified, orphaned, abandoned, notReady, idMismatch, copiedHash, namespaceMeta, expiredJob,
		deploymentCounts, bundleSummary, repoResources, repoClusters, clusterCounts, groupCounts, truncated, frozen, contradiction,
		leftover, absent, orphan, noRepo, noTargets, targetError,
		valuesPending, valuesMissing, valuesMismatch, bundleValues, valuesLeftover, copyMissing,
		willReimport, agentStale, agentNeverSeen, scopeUnproven,
		contentMissing, releaseRecord, stuckDeletion, notApplied, repoNotFollowed, leftoverRelease, unread, willUninstall, notCorrected,
		secretInStatus, comparePatch, largeBundle, hazard,
	}
}

// Run runs every check and returns the findings of all.
func Run(in *Input) []Finding {
	var out []Finding
	for _, check := range Catalogue() {
		check.run(in, func(f Finding) {
			f.Code, f.Severity, f.Title = check.Code, check.Severity, check.Title
			f.Remedies = slices.Clone(f.Remedies)
			for i := range f.Remedies {
				f.Remedies[i].URL = URL(f.Code)
			}
			out = append(out, f)
		})
	}
	return out
}

// Aggregates iterates over the aggregates of a kind that are in scope.
func (f *Facts) Aggregates(kind string) iter.Seq[*evaluate.Aggregate] {
	return func(yield func(*evaluate.Aggregate) bool) {
		for _, a := range f.Tree[kind] {
			if a.InScope && !yield(a) {
				return
			}
		}
	}
}

// objects iterates over the desired objects in scope.
func (f *Facts) objects() iter.Seq2[*evaluate.BundleDeployment, *evaluate.Object] {
	return func(yield func(*evaluate.BundleDeployment, *evaluate.Object) bool) {
		for _, d := range f.Deployments {
			for i := range d.Objects {
				if !yield(d, &d.Objects[i]) {
					return
				}
			}
		}
	}
}

// ofState iterates over the desired objects in a state.
func (f *Facts) ofState(s evaluate.State) iter.Seq2[*evaluate.BundleDeployment, *evaluate.Object] {
	return func(yield func(*evaluate.BundleDeployment, *evaluate.Object) bool) {
		for d, o := range f.objects() {
			if o.State == s && !yield(d, o) {
				return
			}
		}
	}
}

// about returns a finding about an object of a bundle deployment.
func about(d *directory.Deployment, ref object.Ref, format string, args ...any) Finding {
	return Finding{Object: ref, Cluster: d.Cluster, BundleDeployment: d.Key(), Message: fmt.Sprintf(format, args...)}
}

// onDeployment returns a finding about a bundle deployment itself, as old as its status.
func onDeployment(d *evaluate.BundleDeployment, format string, args ...any) Finding {
	f := about(&d.Deployment, d.Ref(), format, args...)
	if d.BD != nil {
		f.AsOf = d.BD.Reported().AsOf
	}
	return f
}

// BundleArgs are the arguments of this program that name the bundle of a deployment.
func (c Commands) BundleArgs(d *directory.Deployment) string {
	if d.FromFiles() {
		return c.Files
	}
	if d.BD == nil || c.Downstream {
		return escape.Shell("bundledeployment/" + d.Name)
	}
	workspace, name, _ := strings.Cut(d.Bundle, "/")
	if workspace == "" {
		return escape.Shell("bundledeployment/" + d.Key())
	}
	return escape.Shell("bundle/"+name) + " -n " + escape.Shell(workspace)
}
