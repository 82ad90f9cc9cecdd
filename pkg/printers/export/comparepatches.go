// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const head = `# Rules that make Fleet ignore the fields that are modified now, one YAML document for each bundle.
# Append the entries to diff.comparePatches in the fleet.yaml of the bundle. Fleet then ignores these
# fields on every cluster of the bundle: it does not report later changes of them.
`

const jobsHead = `# A Job that is missing, because it was deleted when it had finished, is ignored with the operation
# ignore. Remove its entry if the Job was lost: Fleet then does not report that.
`

// WriteComparePatches writes one YAML document for each bundle with modified objects or missing Jobs. Comments list
// each field, and those for which there is no rule.
func WriteComparePatches(w io.Writer, a *report.Audit) error {
	var b bytes.Buffer
	bundles := collect(a.BundleDeployments, a.Findings)
	if len(bundles) == 0 {
		b.WriteString("# No object is modified.\n")
	} else {
		b.WriteString(head)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(bundles)), func(x *bundle) bool { return len(x.jobs) > 0 }) {
		b.WriteString(jobsHead)
	}
	if !a.Complete() {
		b.WriteString("# The audit is not complete: fields that could not be compared are not listed.\n")
	}
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		if err := bundles[name].write(&b, name); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// bundle has the modified fields of the objects of one bundle, and its missing Jobs, on all clusters.
type bundle struct {
	helmOp  string
	objects map[object.Ref]fields
	// jobs are the clusters by Job.
	jobs map[object.Ref][]string
	// deployments is the number of its bundle deployments in the report.
	deployments int
}

// fields are the modified fields of an object.
type fields []field

// field is one modified field on one cluster.
type field struct {
	report.Difference
	cluster string
}

func collect(deployments []report.BundleDeployment, findings []report.Finding) map[string]*bundle {
	out := map[string]*bundle{}
	for _, bd := range deployments {
		name := cmp.Or(bd.Bundle, bd.Key())
		if out[name] == nil {
			out[name] = &bundle{helmOp: bd.HelmOp, objects: map[object.Ref]fields{}, jobs: map[object.Ref][]string{}}
		}
		out[name].deployments++
		for _, r := range bd.Resources {
			switch {
			case r.State == report.Modified:
				out[name].add(r.Ref, bd.Cluster, r.Differences...)
			case finishes(r) && bd.DesiredFrom == "release":
				out[name].jobs[r.Ref] = append(out[name].jobs[r.Ref], bd.Cluster)
			}
		}
	}
	for i := range findings {
		// Fleet reports its replicas as modified.
		if f := &findings[i]; f.Code == codes.ScaledOutside && out[f.Bundle] != nil {
			out[f.Bundle].add(f.Object, f.Cluster, report.Difference{Path: ".spec.replicas", Pointer: "/spec/replicas"})
		}
	}
	maps.DeleteFunc(out, func(_ string, b *bundle) bool { return len(b.objects)+len(b.jobs) == 0 })
	return out
}

// finishes reports whether an object may be missing because it was deleted when it had finished.
func finishes(r report.Resource) bool {
	isJob := r.Kind == "Job" && object.Group(r.APIVersion) == "batch"
	return isJob && r.State == report.Missing
}

// add adds the fields of a modified object on a cluster.
func (x *bundle) add(o object.Ref, cluster string, differences ...report.Difference) {
	known := x.objects[o]
	for _, d := range differences {
		known = append(known, field{d, cluster})
	}
	x.objects[o] = known
}

// moved returns a function that reports whether a field is in different positions on different clusters: its path has
// several pointers, or its pointer has several paths.
func (f fields) moved() func(field) bool {
	known, pointers, paths := map[[2]string]bool{}, map[string]int{}, map[string]int{}
	for _, x := range f {
		if pair := [2]string{x.Path, x.Pointer}; !known[pair] {
			known[pair] = true
			pointers[x.Path]++
			paths[x.Pointer]++
		}
	}
	return func(x field) bool { return pointers[x.Path] > 1 || x.Pointer != "" && paths[x.Pointer] > 1 }
}

// byPosition marks a field in the element of a list.
const byPosition = " (by its position in the list)"

// rule returns the rule for an object, and adds comments about its fields: those that the rule ignores, and others.
func (f fields) rule(ref object.Ref, ignored, others map[string][]string) compare.Rule {
	var pointers []string
	accepted, reasons, moved := map[string]bool{}, make([]string, len(f)), f.moved()
	for i, x := range f {
		switch {
		case moved(x):
			reasons[i] = "it is in different positions of a list on different clusters"
		case x.Pointer == "":
			reasons[i] = "no rule ignores only this field: it has another position in the live list, another rule of " +
				"the bundle depends on it, or the object has too many such fields"
		case hidden(x.Pointer):
			reasons[i] = "its path has characters that are not printable"
		default:
			pointers, accepted[x.Path] = append(pointers, x.Pointer), true
		}
	}
	for i, x := range f {
		switch line := ref.Key().String() + ": " + x.Path; {
		case reasons[i] != "" && !compare.Inside(x.Path, accepted):
			line += ": " + reasons[i]
			others[line] = append(others[line], x.cluster)
		case strings.Contains(x.Path, "["):
			line += byPosition
			fallthrough
		default:
			ignored[line] = append(ignored[line], x.cluster)
		}
	}
	return compare.Exclude(ref, pointers)
}

// write writes the document of a bundle.
func (x *bundle) write(b *bytes.Buffer, name string) error {
	var rules []compare.Rule
	ignored, missing, others := map[string][]string{}, map[string][]string{}, map[string][]string{}
	for _, ref := range slices.SortedFunc(maps.Keys(x.objects), object.Ref.Compare) {
		if hidden(ref.APIVersion + ref.Kind + ref.Namespace + ref.Name) {
			others[ref.Key().String()+": its name has characters that are not printable"] = nil
			continue
		}
		if rule := x.objects[ref].rule(ref, ignored, others); len(rule.JSONPointers) > 0 {
			rules = append(rules, rule)
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(x.jobs), object.Ref.Compare) {
		line := ref.Key().String()
		if hidden(ref.APIVersion + ref.Namespace + ref.Name) {
			others[line+": its name has characters that are not printable"] = nil
			continue
		}
		missing[line] = x.jobs[ref]
		rules = append(rules, compare.IgnoreMissing(ref))
	}
	b.WriteString("---\n")
	comment(b, "bundle "+name)
	if x.helmOp != "" {
		comment(b, "It belongs to HelmOp "+x.helmOp+", which has no fleet.yaml: append the entries in the spec of the "+
			"HelmOp.")
	}
	list(b, "These fields are ignored:", ignored)
	positions := func(line string) bool { return strings.HasSuffix(line, byPosition) }
	if x.deployments > 1 && slices.ContainsFunc(slices.Collect(maps.Keys(ignored)), positions) {
		comment(b, "A position was only checked on the clusters that are named. On another cluster, the rule ignores "+
			"the field at this position.")
	}
	list(b, "These Jobs are ignored if they are missing:", missing)
	if len(missing) > 1 { // seen on 0.13.15
		comment(b, "An agent of Fleet 0.13 or 0.14 crashes if a bundle ignores more than one missing Job: use only "+
			"one of these entries there.")
	}
	list(b, "These fields are modified too, but not ignored:", others)
	if len(rules) == 0 {
		return nil
	}
	b.WriteString("diff:\n  comparePatches:\n")
	for _, r := range rules {
		if err := entry(b, r); err != nil {
			return err
		}
	}
	return nil
}

// entry writes a rule with its fields in the usual order.
func entry(b *bytes.Buffer, r compare.Rule) error {
	indent := "  - "
	write := func(key, value string) error {
		if value == "" {
			return nil
		}
		b.WriteString(indent + key + " ")
		indent = "    "
		if strings.Contains(value, " ") { // YAML could fold it
			return escape.EncodeJSON(b, value, "")
		}
		scalar, err := escape.EncodeYAML(value)
		b.Write(scalar)
		return err
	}
	err := errors.Join(write("apiVersion:", r.APIVersion), write("kind:", r.Kind), write("namespace:", r.Namespace),
		write("name:", r.Name))
	if len(r.Operations) > 0 {
		b.WriteString(indent + "operations:\n")
	}
	for _, o := range r.Operations {
		err = errors.Join(err, write("- op:", o.Op))
	}
	if len(r.JSONPointers) > 0 {
		b.WriteString(indent + "jsonPointers:\n")
	}
	for _, p := range r.JSONPointers {
		err = errors.Join(err, write("-", p))
	}
	return err
}

func list(b *bytes.Buffer, title string, lines map[string][]string) {
	if len(lines) == 0 {
		return
	}
	comment(b, title)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		clusters := slices.DeleteFunc(slices.Compact(lines[line]), func(s string) bool { return s == "" })
		if len(clusters) > 0 {
			line += ", on cluster " + strings.Join(clusters, ", ")
		}
		comment(b, "- "+line)
	}
}

// hidden reports whether a text has characters that are not printable.
func hidden(s string) bool { return escape.Line(s) != s || strings.Contains(s, "\t") }

// comment writes a line of a comment. A line end in a text from a cluster must not end the comment.
func comment(b *bytes.Buffer, line string) { b.WriteString("# " + escape.Line(line) + "\n") }
