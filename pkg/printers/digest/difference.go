// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/unified"
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
	hunks := unified.Diff(unified.NewDocument(desired), unified.NewDocument(live))
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
