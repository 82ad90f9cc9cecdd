// SPDX-License-Identifier: Apache-2.0

// Package check turns the result of an evaluation into findings. There is one file for each check, with its stable
// code. The documentation is generated from the catalogue of the checks. A check is a pure function of the Input.
package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/texts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
)

// Input is what the checks read: the facts, and the commands that findings suggest.
type Input struct {
	*remedy.Maker
}

// New returns the input of the checks.
func New(f *facts.Facts, commands remedy.Commands, ofClusters map[object.ClusterID]remedy.Commands) *Input {
	return &Input{Maker: &remedy.Maker{Facts: f, Commands: commands, ClusterCommands: ofClusters}}
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
	// Aspect distinguishes the finding from others of the same code about the same object: a number, a record, a
	// condition. It never depends on the words of a message. It is empty if a check reports an object once.
	Aspect string
	// Remedies are ways to proceed, the safest one first. Every finding has one.
	Remedies []remedy.Remedy
	AsOf     string
	// Settle are the questions whose answers decide whether the finding is certain: it may show a moment between two
	// writes, or a number that Fleet is about to correct.
	Settle []settle.Question
	// Pauses is after how many pauses the questions are asked for the last time; they are asked after each. With 0
	// nobody waits.
	Pauses int
	// Cause is why a number is wrong, for findings about numbers; empty for others.
	Cause facts.Cause
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
		missing, unowned, contested, modified, orphaned, abandoned, notReady, idMismatch, copiedHash,
		namespaceMeta, expiredJob,
		deploymentCounts, bundleSummary, repoResources, repoClusters, clusterCounts, groupCounts, truncated,
		frozen, contradiction,
		leftover, absent, orphan, noRepo, noTargets, targetError,
		valuesPending, valuesMissing, valuesMismatch, bundleValues, valuesLeftover, copyMissing,
		willReimport, agentStale, agentNeverSeen, scopeUnproven,
		contentMissing, releaseRecord, stuckDeletion, notApplied, repoNotFollowed, leftoverRelease,
		unread, willUninstall, notCorrected,
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
