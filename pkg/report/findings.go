// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Finding is one problem, or one piece of information.
type Finding struct {
	// ID identifies the finding in every report of the same cluster: it depends on the code, the object, the bundle
	// deployment and the cluster, and on what the check examines. Other findings and the words of a message do not
	// change it.
	ID       string   `json:"id" text:"keep"`
	Code     string   `json:"code" text:"word"`
	Severity Severity `json:"severity" text:"keep"`
	// Urgency is when the finding has an effect: now, later, or on nothing but a status of Fleet.
	Urgency Urgency    `json:"urgency,omitempty" jsonschema:"enum=now,enum=later,enum=status" text:"keep"`
	Title   string     `json:"title" text:"word"`
	Object  object.Ref `json:"object" text:"name"`
	// Aspect distinguishes the finding from others of the same code about the same object, such as a number or a
	// condition.
	Aspect  string `json:"aspect,omitempty" text:"redact"`
	Cluster string `json:"cluster,omitempty" text:"name"` // "namespace/name"
	// Clusters are all clusters with the same finding about the same object of the same bundle, if there are several.
	// Cluster is the first of them.
	Clusters []string `json:"clusters,omitempty" text:"name"`
	// IDs are the identities of the finding on each of Clusters, in the same order. ID is the first of them: if the
	// finding is fixed on the first cluster, ID becomes that of another one. Compare IDs to find out on which clusters
	// a finding is new or fixed.
	IDs []string `json:"ids,omitempty" text:"keep"`
	// PerCluster has what differs between Clusters, in the same order. BundleDeployment, Evidence, Remedies and
	// Remediation are those of the first one.
	PerCluster []ClusterFinding `json:"perCluster,omitempty"`
	// BundleDeployment is "namespace/name" of the bundle deployment that the finding is about; empty if it is about
	// none.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
	// Bundle, GitRepo and HelmOp are those of the bundle deployment, or the object itself ("namespace/name"), if they
	// are known.
	Bundle   string   `json:"bundle,omitempty" text:"name"`
	GitRepo  string   `json:"gitRepo,omitempty" text:"name"`
	HelmOp   string   `json:"helmOp,omitempty" text:"name"`
	Message  string   `json:"message" text:"redact"`
	Evidence []string `json:"evidence,omitempty" text:"redact"`
	// Remedies are ways to proceed, the safest one first. Remediation is the first of them as one text: its command, or
	// its sentence.
	Remedies    []Remedy `json:"remedies,omitempty"`
	Remediation string   `json:"remediation,omitempty" text:"redact"`
	AsOf        string   `json:"asOf,omitempty" text:"keep"`
	// CausedBy is the finding of this report from which this one follows.
	CausedBy *Origin `json:"causedBy,omitempty"`
	// Cause is why a number that Fleet reports is wrong, for findings about numbers (FD201 to FD206).
	Cause Cause `json:"cause,omitempty" jsonschema:"enum=Lag,enum=StaleAgent,enum=Paused,enum=OffSchedule,enum=PendingRollout,enum=Truncated,enum=StickyIncompleteState,enum=LeftoverLastApplied,enum=KnownBug,enum=Unexplained" text:"keep"`
}

// Origin names another finding of the same report.
type Origin struct {
	ID      string     `json:"id" text:"keep"`
	Code    string     `json:"code" text:"word"`
	Object  object.Ref `json:"object" text:"name"`
	Cluster string     `json:"cluster,omitempty" text:"name"` // "namespace/name"
	// BundleDeployment is "namespace/name"; empty for a finding that is not about one.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
}

// Urgency is when a finding has an effect.
type Urgency string

// The urgencies, the most urgent one first: something does not run as desired or is not known; a later change will have
// an effect that nobody expects, or something is left over; only a number or a word of Fleet is wrong.
const (
	Now    Urgency = "now"
	Later  Urgency = "later"
	Status Urgency = "status"
)

// ClusterFinding is the part of a finding on several clusters that is of one cluster.
type ClusterFinding struct {
	Cluster          string   `json:"cluster" text:"name"` // "namespace/name"
	ID               string   `json:"id" text:"keep"`
	BundleDeployment string   `json:"bundleDeployment" text:"name"` // "namespace/name"
	Evidence         []string `json:"evidence,omitempty" text:"redact"`
	Remedies         []Remedy `json:"remedies,omitempty"`
}

// Cause is why a number in a status of Fleet is not the recomputed one. docs/output.md describes the causes.
type Cause = facts.Cause

// newFindings converts findings, and adds the bundle and its GitRepo or HelmOp.
func newFindings(findings []check.Finding, deployments []*evaluate.BundleDeployment) []Finding {
	byKey := map[string]*evaluate.BundleDeployment{}
	for _, d := range deployments {
		byKey[d.Key()] = d
	}
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		x := Finding{Code: f.Code, Severity: Severity(f.Severity), Urgency: Urgency(f.Urgency), Title: f.Title,
			Object: f.Object, Aspect: f.Aspect, Cluster: f.Cluster, BundleDeployment: f.BundleDeployment,
			Message: f.Message, Evidence: f.Evidence,
			Remedies: f.Remedies, Remediation: first(f.Remedies), AsOf: f.AsOf, Cause: f.Cause}
		if d := byKey[f.BundleDeployment]; d != nil {
			x.Bundle, x.GitRepo, x.HelmOp = d.Bundle, d.GitRepo, d.HelmOp
		}
		key := f.Object.Namespace + "/" + f.Object.Name
		switch f.Object.Kind {
		case state.Bundle:
			x.Bundle = key
		case state.GitRepo:
			x.GitRepo = key
		case state.HelmOp:
			x.HelmOp = key
		}
		out = append(out, x)
	}
	return out
}

func (f *Finding) follow() { f.Remediation = cmp.Or(first(f.Remedies), f.Remediation) }

// first returns the first remedy as one text: its command, or its sentence.
func first(remedies []Remedy) string {
	if len(remedies) == 0 {
		return ""
	}
	return cmp.Or(remedies[0].Command, remedies[0].Text)
}

// number sets the identities. They are unique even if a check reports an object twice without an aspect.
func number(findings []Finding) {
	times := map[string]int{}
	for i := range findings {
		f := &findings[i]
		f.ID = FindingID(f, f.Cluster, f.BundleDeployment, times)
	}
}

// FindingID returns the identity of a finding on a cluster. times counts the findings that have the same one; the
// second one gets a number.
func FindingID(f *Finding, cluster, bundleDeployment string, times map[string]int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{cluster, bundleDeployment, f.Object.APIVersion, f.Object.Kind,
		f.Object.Namespace, f.Object.Name, f.Aspect}, "\x00")))
	id := f.Code + "-" + hex.EncodeToString(sum[:5])
	if times[id]++; times[id] > 1 {
		return fmt.Sprintf("%s-%d", id, times[id])
	}
	return id
}

// link sets the cause of each finding: the first of the findings that it follows from, if one is reported. out are the
// same findings as in, in the same order.
func link(out []Finding, in []check.Finding) {
	found := map[check.Origin]*Finding{}
	add := func(k check.Origin, f *Finding) {
		if found[k] == nil {
			found[k] = f
		}
	}
	for i := range out {
		f := &out[i]
		if f.BundleDeployment != "" {
			add(check.Origin{Code: f.Code, Cluster: f.Cluster, BundleDeployment: f.BundleDeployment}, f)
		}
		add(check.Origin{Code: f.Code, Cluster: f.Cluster, Object: f.Object}, f)
	}
	for i := range in {
		for _, k := range in[i].Follows {
			if origin := found[k]; origin != nil && origin != &out[i] {
				out[i].CausedBy = &Origin{Code: origin.Code, Object: origin.Object, Cluster: origin.Cluster,
					BundleDeployment: origin.BundleDeployment}
				break
			}
		}
	}
}

// identify completes the causes with the identities of their findings.
func identify(findings []Finding) {
	ids := map[Origin]string{}
	for _, f := range findings {
		k := Origin{Code: f.Code, Object: f.Object, Cluster: f.Cluster, BundleDeployment: f.BundleDeployment}
		if ids[k] == "" {
			ids[k] = f.ID
		}
	}
	for i := range findings {
		if o := findings[i].CausedBy; o != nil {
			o.ID = ids[*o]
		}
	}
}

// withoutOrphans returns findings without the causes that are not among them.
func withoutOrphans(findings []Finding) []Finding {
	present := map[string]bool{}
	for i := range findings {
		present[findings[i].ID] = true
		for _, id := range findings[i].IDs {
			present[id] = true
		}
	}
	return each(findings, func(f Finding) Finding {
		if f.CausedBy != nil && !present[f.CausedBy.ID] {
			f.CausedBy = nil
		}
		return f
	})
}
