// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxValue is the length in bytes at which a value is cut in a document. A ConfigMap can have values of a MiB.
const maxValue = 32 << 10

// Line is one line of a difference. Sign is "-" for the bundle, "+" for the cluster, "!" for the release record, "@"
// for a place and " " for both sides.
type Line struct{ Sign, Text string }

// Field is one field that differs.
type Field struct {
	Path string
	// About is who wrote the live value, and what qualifies the difference.
	About string
	Lines []Line
}

// Differences are the differences of the objects of an audit.
type Differences map[key][]report.Difference

type key struct {
	cluster, bundleDeployment string
	object                    object.Ref
}

// NewDifferences returns the differences of an audit.
func NewDifferences(a *report.Audit) Differences {
	out := Differences{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		for j := range bd.Resources {
			if r := &bd.Resources[j]; len(r.Differences) > 0 {
				out[key{bd.Cluster, bd.Key(), r.Ref}] = r.Differences
			}
		}
	}
	return out
}

// AboutFields reports whether a finding is about an object of which fields may differ.
func AboutFields(f *report.Finding) bool { return codes.Is(f.Code, codes.AboutFields) }

// Of returns the fields that a finding is about.
func (d Differences) Of(f *report.Finding) []Field {
	if !AboutFields(f) {
		return nil
	}
	var out []Field
	for _, x := range d[key{f.Cluster, f.BundleDeployment, f.Object}] {
		out = append(out, field(x))
	}
	return out
}

// Evidence returns the evidence of a finding that its fields do not show.
func Evidence(f *report.Finding, fields []Field) []string {
	shown := map[string]bool{}
	for _, x := range fields {
		shown[x.About], shown[x.Path+": "+x.About] = true, true
	}
	other := *f
	other.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e string) bool { return shown[e] })
	return other.Described()
}

func field(d report.Difference) Field {
	out := Field{Path: d.Path, About: d.Who()}
	if d.Note != "" {
		out.About += " (" + d.Note + ")"
	}
	desired, live := text(d.Desired, false), text(d.Live, false)
	if desired == live { // such as 1 and "1"
		desired, live = text(d.Desired, true), text(d.Live, true)
	}
	out.Lines = lines(desired, live)
	if !d.Release.IsZero() {
		for line := range strings.Lines(text(d.Release, false)) {
			out.Lines = append(out.Lines, Line{"!", strings.TrimSuffix(line, "\n")})
		}
	}
	return out
}

// text returns a value in complete lines: a text as it is, a list or a map as YAML, any other value as JSON. A field
// without a value has no lines.
func text(v report.Value, quoted bool) string {
	if v.IsZero() {
		return ""
	}
	out, ok := v.Shown().(string)
	if !ok || out == "" || quoted {
		out = encoded(v.Shown())
	}
	if rest := len(out) - maxValue; rest > 0 {
		out = strings.ToValidUTF8(out[:maxValue], "") +
			fmt.Sprintf("\n… cut here, %s follow (-o json has the whole value)", report.Plural(rest, "byte"))
	}
	return out + "\n"
}

func encoded(v any) string {
	var b bytes.Buffer
	var err error
	switch v.(type) {
	case []any, map[string]any:
		var raw []byte
		raw, err = escape.EncodeYAML(v)
		b.Write(raw)
	default:
		err = escape.EncodeJSON(&b, v, "")
	}
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines compares two values line by line, with three lines of context.
func lines(desired, live string) []Line {
	hunks := Diff(NewDocument(desired), NewDocument(live))
	var out []Line
	for _, h := range hunks {
		if h.Line > 1 || len(hunks) > 1 {
			out = append(out, Line{"@", fmt.Sprintf("line %d", h.Line)})
		}
		for _, c := range h.Changes {
			out = append(out, Line{string(c.Sign), c.Text})
		}
	}
	return out
}

// Details are what a row about a spread says beside its numbers.
type Details struct {
	now     time.Time
	objects map[deployment][]string // that findings are about
	changed map[deployment]string   // when they were changed (RFC 3339)
}

// deployment identifies a bundle deployment of an audit: its cluster and its key.
type deployment struct{ cluster, key string }

// NewDetails returns the details of an audit.
func NewDetails(a *report.Audit) Details {
	out := Details{now: timeOf(a), objects: map[deployment][]string{}, changed: map[deployment]string{}}
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Severity != report.Info && f.Object.Name != "" && !AboutFleet(f) {
			for _, single := range f.OnEach() {
				place := deployment{single.Cluster, single.BundleDeployment}
				out.objects[place] = append(out.objects[place], f.Object.Key().String())
				if f.Code == codes.Modified {
					out.changed[place] = earlier(out.changed[place], f.AsOf)
				}
			}
		}
	}
	return out
}

// earlier is the earlier one of two times (RFC 3339, UTC), of which either may be empty.
func earlier(x, y string) string {
	if x == "" || y != "" && y < x {
		return y
	}
	return x
}

// someNames is the number of names that a row has before it says more.
const someNames = 3

// Of says in at most so many columns how many bundle deployments of a spread are in which state but Ready, since when,
// which ones, and with which object. name names a bundle deployment, and span is the width of a text.
func (d Details) Of(s *Spread, columns int, name func(*report.BundleDeployment) string, span func(string) int) string {
	out := s.Tallies()
	states := StatesOf(s)
	phrases := make([][]string, len(states))
	for i, state := range states {
		phrases[i] = d.phrases(out[i], s.members[state], name)
	}
	lengthen := func(i int, by []string) {
		left := columns - span(strings.Join(out, "; ")) + span(out[i])
		if index := slices.IndexFunc(by, func(long string) bool { return span(long) <= left }); index >= 0 {
			out[i] = by[index]
		}
	}
	for i, all := range phrases {
		lengthen(i, all[len(all)-1:]) // each state has a name before one of them says more
	}
	for i, all := range phrases {
		lengthen(i, all)
	}
	return strings.Join(out, "; ")
}

// phrases are phrases about bundle deployments in one state, the best one first; the last one has one name.
func (d Details) phrases(tally string, members []*report.BundleDeployment,
	name func(*report.BundleDeployment) string) []string {
	since, object := d.about(members)
	all := namesIn(members, name)
	var out []string
	add := func(n int, since, object string) {
		names := strings.Join(all[:n], " ")
		if n < len(all) {
			names += " …"
		}
		out = append(out, tally+since+": "+names+object)
	}
	for _, with := range [][2]string{{since, object}, {"", object}, {since, ""}} {
		for n := len(all); n >= min(someNames, len(all)); n-- {
			add(n, with[0], with[1])
		}
	}
	for n := len(all); n > 0; n-- {
		add(n, "", "")
	}
	return out
}

// about says since when bundle deployments are in their state, as far as that is recorded, and which object of theirs
// has a problem. On a cluster that was not read, they are in it at least since the status was written.
func (d Details) about(members []*report.BundleDeployment) (since, object string) {
	from := ""
	var objects []string
	for _, bd := range members {
		place := deployment{bd.Cluster, bd.Key()}
		objects = append(objects, d.objects[place]...)
		from = earlier(from, d.changed[place])
		if Unread(bd) && bd.Reported != nil {
			from = earlier(from, bd.Reported.AsOf)
		}
	}
	if from != "" {
		since = " since " + shortTime(from, d.now, "")
	}
	objects = namesIn(objects, itself)
	if len(objects) > 0 {
		object = ", " + objects[0]
	}
	if n := len(objects) - 1; n > 0 {
		object += fmt.Sprintf(" and %s", report.Plural(n, "more object"))
	}
	return since, object
}
