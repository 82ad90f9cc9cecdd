// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Headline is a problem in one sentence: its message with what it is about on all clusters.
func Headline(a *report.Audit, p *Problem) string {
	f, clusters := p.First(), p.Clusters()
	others := len(p.Findings) - 1
	subject, predicate := "", f.Message
	for _, name := range []string{f.BundleDeployment, f.Object.Key().String()} {
		if rest, found := strings.CutPrefix(f.Message, name+" "); found && name != "" {
			subject, predicate = name, rest
		}
	}
	bundles := len(namesIn(p.Findings, func(f *report.Finding) string { return f.Bundle }))
	where := ""
	if len(clusters) > 1 {
		of := 0
		if bundles == 1 && f.Bundle != "" {
			of = deploymentsOf(a, f.Bundle)
		}
		where = " on " + ofClusters(of, clusters)
	}
	switch {
	case bundles > 1:
		return fmt.Sprintf("%s of %d bundles%s: %s", report.Plural(len(p.Findings), "bundle deployment"), bundles, where,
			predicate)
	case subject != "" && subject == f.BundleDeployment && f.Bundle != "":
		return BaseName(f.Bundle) + where + ": " + predicate
	case len(clusters) > 1:
		return f.Message + " (also" + where + ")"
	case others > 0:
		return fmt.Sprintf("%s (and %s of %s)", f.Message, report.Plural(others, "other object"), BaseName(f.Bundle))
	case len(clusters) == 1 && len(a.Clusters) > 1 && !strings.Contains(f.Message, clusters[0]):
		return f.Message + " (" + BaseName(clusters[0]) + ")"
	}
	return f.Message
}

// Subject names what distinguishes a finding from equal ones: its bundle deployment or its object.
func Subject(f *report.Finding) string {
	name := f.Object.Key().String()
	if f.Object.Name == "" || AboutFleet(f) {
		return cmp.Or(f.BundleDeployment, name)
	}
	return name
}

// namesIn are the different names of findings, in their order.
func namesIn(findings []*report.Finding, name func(*report.Finding) string) []string {
	var out []string
	for _, f := range findings {
		if n := name(f); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// deploymentsOf is the number of bundle deployments of a bundle.
func deploymentsOf(a *report.Audit, bundle string) int {
	n := 0
	for i := range a.BundleDeployments {
		if a.BundleDeployments[i].Bundle == bundle {
			n++
		}
	}
	return n
}

// MaxNames is the number of names that a sentence lists.
const MaxNames = 5

// ofClusters names clusters, and says of how many they are; 0 if that means nothing.
func ofClusters(all int, clusters []string) string {
	n := strconv.Itoa(len(clusters))
	if all > len(clusters) {
		n += fmt.Sprintf(" of %d", all)
	}
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = BaseName(c)
	}
	return fmt.Sprintf("%s clusters (%s)", n, First(names, MaxNames))
}

// First lists the first names, and counts the others.
func First(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// BaseName is a name without its namespace.
func BaseName(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// Consequences is what follows from a problem, as a sentence; empty if nothing does.
func Consequences(p *Problem) string {
	totals := map[string]map[string]bool{}
	others := map[string]int{}
	var kinds, codes []string
	for _, f := range p.Follow {
		if !strings.HasPrefix(f.Code, "FD20") {
			if others[f.Code]++; others[f.Code] == 1 {
				codes = append(codes, f.Code)
			}
			continue
		}
		if totals[f.Object.Kind] == nil {
			totals[f.Object.Kind] = map[string]bool{}
			kinds = append(kinds, f.Object.Kind)
		}
		totals[f.Object.Kind][f.Cluster+" "+f.Object.Namespace+"/"+f.Object.Name] = true
	}
	var out, wrong []string
	for _, code := range codes {
		out = append(out, follows(code, others[code]))
	}
	for _, kind := range kinds {
		wrong = append(wrong, report.Plural(len(totals[kind]), noun(kind)))
	}
	if len(wrong) > 0 {
		verb := "report"
		if len(wrong) == 1 && len(totals[kinds[0]]) == 1 {
			verb = "reports"
		}
		out = append(out, listOf(wrong)+" "+verb+" wrong numbers")
	}
	if len(out) == 0 {
		return ""
	}
	return "so " + strings.Join(out, "; ")
}

// follows says what n findings of a code that follow from another one are.
func follows(code string, n int) string {
	switch code {
	case "FD604":
		return fmt.Sprintf("%s %s not applied", report.Plural(n, "bundle deployment"), be(n))
	case "FD607":
		return report.Plural(n, "bundle deployment") + " without a result"
	case "FD103":
		return fmt.Sprintf("%s %s desired by several bundles", report.Plural(n, "object"), be(n))
	}
	return report.Plural(n, "finding") + " " + escape.Line(code)
}

// noun is what a kind of Fleet is called in a sentence.
func noun(kind string) string {
	switch kind {
	case "BundleDeployment":
		return "bundle deployment"
	case "ClusterGroup":
		return "cluster group"
	case "GitRepo", "HelmOp":
		return kind
	}
	return strings.ToLower(kind)
}

// listOf joins words with commas, and the last one with "and".
func listOf(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}
