// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Headlines write problems in one sentence each.
type Headlines struct {
	clusters    int            // of the audit
	deployments map[string]int // by bundle
	now         time.Time      // of the audit
}

// NewHeadlines returns the headlines of the problems of an audit.
func NewHeadlines(a *report.Audit) Headlines {
	out, clusters := Headlines{deployments: map[string]int{}}, map[string]bool{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		out.deployments[bd.Bundle]++
		clusters[bd.Cluster] = true
	}
	out.clusters, out.now = len(clusters), timeOf(a)
	return out
}

// Of is a problem in one sentence: what it is about, on which clusters, and what is wrong there.
func (h Headlines) Of(p *Problem) string {
	return strings.Join(NonEmpty(h.Parts(p)), " ")
}

// Parts are the sentence of a problem in two parts: what it is about, if that is not part of the message, and the
// message.
func (h Headlines) Parts(p *Problem) (about, message string) {
	f := p.First()
	if f.Bundle == "" && f.BundleDeployment == "" {
		return ofFleet(p)
	}
	bundles := namesIn(p.Findings, func(f *report.Finding) string { return cmp.Or(f.Bundle, f.BundleDeployment) })
	subject := BaseName(bundles[0])
	if n := len(bundles); n > 1 {
		subject = fmt.Sprintf("%d bundles (%s)", n, First(report.Texts(bundles, BaseName), maxBundles))
	}
	subject += h.onClusters(p, bundles)
	predicate, found := strings.CutPrefix(f.Message, f.BundleDeployment+" ")
	if found && !p.varies() {
		return "", subject + " " + agreeing(predicate, len(bundles))
	}
	objects := namesIn(p.Findings, func(f *report.Finding) object.Key { return f.Object.Key() })
	if len(objects) > 1 && !AboutFleet(f) {
		subject += ", " + report.Plural(len(objects), "object")
	}
	return subject + ":", p.message()
}

// ofFleet is a problem of objects of Fleet that are not of one bundle, such as Clusters.
func ofFleet(p *Problem) (about, message string) {
	f := p.First()
	keys := namesIn(p.Findings, func(f *report.Finding) string { return f.Object.Key().String() })
	if len(keys) == 1 {
		return "", f.Message
	}
	what := noun(f.Object.Kind)
	if len(namesIn(p.Findings, func(f *report.Finding) string { return f.Object.Kind })) > 1 {
		what = "object"
	}
	names := namesIn(p.Findings, func(f *report.Finding) string { return f.Object.Name })
	return fmt.Sprintf("%s (%s):", report.Plural(len(keys), what), First(names, MaxNames)), p.message()
}

// message is the message of the first finding. If others have other numbers, it is an example.
func (p *Problem) message() string {
	if p.varies() {
		return "for example, " + p.First().Message
	}
	return p.First().Message
}

// varies reports whether the messages of the findings differ in a number that is not a time.
func (p *Problem) varies() bool {
	first := withoutTimes(withoutNames(p.First()))
	return slices.ContainsFunc(p.Findings[1:], func(f *report.Finding) bool {
		return withoutTimes(withoutNames(f)) != first
	})
}

// agreeing is a predicate whose verb agrees with the number of its subjects.
func agreeing(predicate string, n int) string {
	verb, rest, _ := strings.Cut(predicate, " ")
	if plural := plurals[verb]; n > 1 && plural != "" {
		return plural + " " + rest
	}
	return predicate
}

// plurals are the verbs with which messages begin, and their plural.
var plurals = map[string]string{"is": "are", "has": "have", "was": "were", "does": "do", "reports": "report",
	"waits": "wait"}

// Subject names what distinguishes a finding from equal ones: its bundle deployment or its object.
func Subject(f *report.Finding) string {
	name := f.Object.Key().String()
	if f.Object.Name == "" || AboutFleet(f) {
		return cmp.Or(f.BundleDeployment, name)
	}
	return name
}

// onClusters says on which clusters a problem of bundles is, and of how many that is; empty if the audit is about one
// cluster.
func (h Headlines) onClusters(p *Problem, bundles []string) string {
	clusters := p.Clusters()
	if h.clusters <= 1 || len(clusters) == 0 {
		return ""
	}
	if len(clusters) == 1 {
		return " on " + BaseName(clusters[0])
	}
	all := h.deployments[bundles[0]]
	n, most := strconv.Itoa(len(clusters)), MaxNames
	switch {
	case len(bundles) > 1:
		most = maxBundles
	case all > len(clusters):
		n += fmt.Sprintf(" of %d", all)
	}
	return fmt.Sprintf(" on %s clusters (%s)", n, First(report.Texts(clusters, BaseName), most))
}

// maxBundles is the number of bundles that a headline names, and of clusters if it names several bundles.
const maxBundles = 2

// MaxNames is the number of names that a sentence lists.
const MaxNames = 5

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
	var kinds, order []string
	for _, f := range p.Follow {
		if !codes.Is(f.Code, codes.AboutTotals) {
			if others[f.Code]++; others[f.Code] == 1 {
				order = append(order, f.Code)
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
	for _, code := range order {
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
		out = append(out, List(wrong)+" "+verb+" wrong totals")
	}
	if len(out) == 0 {
		return ""
	}
	return "so " + strings.Join(out, "; ")
}

// follows says what n findings of a code that follow from another one are.
func follows(code string, n int) string {
	switch code {
	case codes.NotApplied:
		return fmt.Sprintf("%s %s not applied", report.Plural(n, "bundle deployment"), be(n))
	case codes.Unread:
		return report.Plural(n, "bundle deployment") + " without a result"
	case codes.Contested:
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

// List joins words with commas, and the last one with "and".
func List(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}

// untilNow is the end of a message that says since when something is so.
var untilNow = regexp.MustCompile(`; [^;]* since ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z)$`)

// Since says since when a problem is so; empty if that is not recorded.
func Since(p *Problem) string {
	f := p.First()
	if f.AsOf == "" || !codes.Is(f.Code, codes.DatedByField) {
		return ""
	}
	return sinceTime(f.AsOf)
}

func sinceTime(s string) string { return "(since " + s + ")" }

// Brief is the message of a problem with short times. What its end says about the time replaces since.
func (h Headlines) Brief(says, since string) (string, string) {
	if end := untilNow.FindStringSubmatchIndex(says); end != nil {
		since, says = sinceTime(says[end[2]:end[3]]), says[:end[0]]
	}
	clock := func(s string) string { return shortTime(s, h.now, " 15:04") }
	return times.ReplaceAllStringFunc(says, clock), times.ReplaceAllStringFunc(since, clock)
}

// shortTime is a time (RFC 3339) without the year if that is less than a year before now. clock is the layout after the
// date.
func shortTime(s string, now time.Time, clock string) string {
	t, err := time.Parse(time.RFC3339, s)
	switch t = t.UTC(); {
	case err != nil:
		return s
	case t.After(now.AddDate(-1, 0, 0)):
		return t.Format("01-02" + clock)
	}
	return t.Format("2006-01-02" + clock)
}

// timeOf is when an audit was taken; the time 0 if that is not known.
func timeOf(a *report.Audit) time.Time {
	t, _ := time.Parse(time.RFC3339, a.TakenAt)
	return t
}
