// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// newFindings converts findings, and adds the bundle and its GitRepo or HelmOp.
func newFindings(findings []check.Finding, deployments []*evaluate.BundleDeployment) []Finding {
	of := map[string]*evaluate.BundleDeployment{}
	for _, d := range deployments {
		of[d.Key()] = d
	}
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		x := Finding{Code: f.Code, Severity: Severity(f.Severity), Title: f.Title, Object: f.Object, Aspect: f.Aspect, Cluster: f.Cluster,
			BundleDeployment: f.BundleDeployment, Message: f.Message, Evidence: f.Evidence, Remedies: NewRemedies(f.Remedies), AsOf: f.AsOf, Cause: f.Cause}
		x.Remediation = first(x.Remedies)
		if d := of[f.BundleDeployment]; d != nil {
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

// NewRemedies converts remedies.
func NewRemedies(remedies []remedy.Remedy) []Remedy {
	var out []Remedy
	for _, r := range remedies {
		out = append(out, Remedy(r))
	}
	return out
}

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

// FindingID returns the identity of a finding on a cluster. times counts the findings that have the same one; the second one gets a number.
func FindingID(f *Finding, cluster, bundleDeployment string, times map[string]int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{cluster, bundleDeployment, f.Object.APIVersion, f.Object.Kind, f.Object.Namespace, f.Object.Name, f.Aspect}, "\x00")))
	id := f.Code + "-" + hex.EncodeToString(sum[:5])
	if times[id]++; times[id] > 1 {
		return fmt.Sprintf("%s-%d", id, times[id])
	}
	return id
}
