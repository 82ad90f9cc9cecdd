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
	objects map[object.Ref]*fields
	// jobs are the clusters by Job.
	jobs map[object.Ref][]string
	// deployments is the number of its bundle deployments in the report.
	deployments int
}

// fields are the modified fields of an object.
type fields struct {
	all []field
	// pointers are the JSON pointers by path, and paths are the paths by pointer.
	pointers, paths map[string]string
}

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
			out[name] = &bundle{helmOp: bd.HelmOp, objects: map[object.Ref]*fields{}, jobs: map[object.Ref][]string{}}
		}
		out[name].deployments++
		for _, r := range bd.Resources {
			switch {
			case r.State == report.Modified:
				out[name].add(r, bd.Cluster)
			case finishes(r) && bd.DesiredFrom == "release":
				out[name].jobs[r.Ref] = append(out[name].jobs[r.Ref], bd.Cluster)
			}
		}
	}
	for i := range findings {
		// Fleet reports its replicas as modified.
		if f := &findings[i]; f.Code == codes.ScaledOutside && out[f.Bundle] != nil {
			out[f.Bundle].add(report.Resource{Ref: f.Object, Differences: []report.Difference{{Path: ".spec.replicas",
				Pointer: "/spec/replicas"}}}, f.Cluster)
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
func (x *bundle) add(r report.Resource, cluster string) {
	of := x.objects[r.Ref]
	if of == nil {
		of = &fields{pointers: map[string]string{}, paths: map[string]string{}}
		x.objects[r.Ref] = of
	}
	for _, d := range r.Differences {
		of.add(field{d, cluster})
	}
}

// several is the path or the pointer of a field that is in different positions on different clusters.
const several = "\x00"

func (f *fields) add(x field) {
	f.all = append(f.all, x)
	for _, known := range []struct {
		values     map[string]string
		key, value string
	}{{f.pointers, x.Path, x.Pointer}, {f.paths, x.Pointer, x.Path}} {
		if v, ok := known.values[known.key]; ok && v != known.value {
			known.values[known.key] = several
		} else {
			known.values[known.key] = known.value
		}
	}
}

// pointer returns the JSON pointer that excludes a field on each cluster on which it is modified; otherwise the reason
// why no pointer can exclude it.
func (f *fields) pointer(x field) (pointer, reason string) {
	switch {
	case f.pointers[x.Path] == several, x.Pointer != "" && f.paths[x.Pointer] == several:
		return "", "it is in different positions of a list on different clusters"
	case x.Pointer == "":
		return "", "no rule ignores only this field: it has another position in the live list, another rule of the " +
			"bundle depends on it, or the object has too many such fields"
	case hidden(x.Pointer):
		return "", "its path has characters that are not printable"
	}
	return x.Pointer, ""
}

// byPosition marks a field in the element of a list.
const byPosition = " (by its position in the list)"

// lines are the comments about the fields of an object, by path: those that its rule ignores, and those that it does
// not ignore.
type lines struct{ ignored, others map[string][]string }

// rule returns the rule for an object, and comments about its fields.
func (f *fields) rule(ref object.Ref) (compare.Rule, lines) {
	var pointers []string
	accepted, about := map[string]bool{}, lines{map[string][]string{}, map[string][]string{}}
	for _, x := range f.all {
		if p, _ := f.pointer(x); p != "" {
			pointers, accepted[x.Path] = append(pointers, p), true
		}
	}
	for _, x := range f.all {
		_, reason := f.pointer(x)
		switch line := ref.Key().String() + ": " + x.Path; {
		case reason != "" && !compare.Inside(x.Path, accepted):
			line += ": " + reason
			about.others[line] = append(about.others[line], x.cluster)
		case strings.Contains(x.Path, "["):
			line += byPosition
			fallthrough
		default:
			about.ignored[line] = append(about.ignored[line], x.cluster)
		}
	}
	return compare.Exclude(ref, pointers), about
}

// write writes the document of a bundle.
func (x *bundle) write(b *bytes.Buffer, name string) error {
	var rules []compare.Rule
	all := lines{map[string][]string{}, map[string][]string{}}
	for _, ref := range slices.SortedFunc(maps.Keys(x.objects), object.Ref.Compare) {
		if hidden(ref.APIVersion + ref.Kind + ref.Namespace + ref.Name) {
			line := ref.Key().String() + ": its name has characters that are not printable"
			all.others[line] = nil
			continue
		}
		rule, about := x.objects[ref].rule(ref)
		if len(rule.JSONPointers) > 0 {
			rules = append(rules, rule)
		}
		maps.Copy(all.ignored, about.ignored)
		maps.Copy(all.others, about.others)
	}
	missing := map[string][]string{}
	for _, ref := range slices.SortedFunc(maps.Keys(x.jobs), object.Ref.Compare) {
		line := ref.Key().String()
		if hidden(ref.APIVersion + ref.Namespace + ref.Name) {
			all.others[line+": its name has characters that are not printable"] = nil
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
	list(b, "These fields are ignored:", all.ignored)
	positions := func(line string) bool { return strings.HasSuffix(line, byPosition) }
	if x.deployments > 1 && slices.ContainsFunc(slices.Collect(maps.Keys(all.ignored)), positions) {
		comment(b, "A position was only checked on the clusters that are named. On another cluster, the rule ignores "+
			"the field at this position.")
	}
	list(b, "These Jobs are ignored if they are missing:", missing)
	if len(missing) > 1 { // seen on 0.13.15
		comment(b, "An agent of Fleet 0.13 or 0.14 crashes if a bundle ignores more than one missing Job: use only "+
			"one of these entries there.")
	}
	list(b, "These fields are modified too, but not ignored:", all.others)
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
