// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	cliprinters "k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// The formats of columns, as in kubectl. They are not in cli-runtime, and kubectl's own package (cmd/get) allocates
// 4 MB in 10 ms when the program starts, also in each rendering worker.
const (
	customColumns     = "custom-columns"
	customColumnsFile = "custom-columns-file"
)

// column is one column of -o custom-columns.
type column struct {
	header string
	text   string // the path as the user wrote it
	path   *jsonpath.JSONPath
}

// parseColumns reads HEADER:PATH,HEADER:PATH.
func parseColumns(spec string) ([]column, error) {
	var headers, paths []string
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("parsing column %q: it must be HEADER:PATH", part)
		}
		headers, paths = append(headers, header), append(paths, path)
	}
	return newColumns(headers, paths)
}

// readColumns reads a file with the headers in the first line and the paths in the second.
func readColumns(file string) ([]column, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the columns: %w", err)
	}
	headers, rest, _ := strings.Cut(string(content), "\n")
	paths, _, _ := strings.Cut(rest, "\n")
	return newColumns(strings.Fields(headers), strings.Fields(paths))
}

func newColumns(headers, paths []string) ([]column, error) {
	if len(headers) == 0 || len(headers) != len(paths) {
		return nil, fmt.Errorf("parsing columns: there are %d headers and %d paths", len(headers), len(paths))
	}
	var out []column
	for i, path := range paths {
		parsed, err := parsePath(headers[i], path)
		if err != nil {
			return nil, fmt.Errorf("parsing the path of column %q: %w", headers[i], err)
		}
		out = append(out, column{headers[i], path, parsed})
	}
	return out, nil
}

// parsePath parses the path of a field. {.name}, .name and name are the same.
func parsePath(name, path string) (*jsonpath.JSONPath, error) {
	parsed := jsonpath.New(name).AllowMissingKeys(true)
	if err := parsed.Parse(bracketed(path)); err != nil || strings.Trim(path, "{}") == "" {
		return nil, fmt.Errorf("%q is not a JSONPath", path)
	}
	return parsed, nil
}

// printColumns writes a table of the rows, with or without headers. Their text is escaped first: a line end in a cell
// would look like another row.
func printColumns(w io.Writer, list any, columns []column, headed bool) error {
	var rows []any
	if err := decode(list, &rows); err != nil {
		return err
	}
	var b bytes.Buffer
	lines := cliprinters.GetNewTabWriter(&b)
	if headed {
		headers := report.Texts(columns, func(c column) string { return c.header })
		fmt.Fprintln(lines, strings.Join(headers, "\t"))
	}
	for _, row := range rows {
		var cells []string
		row = escape.Lines(row)
		for _, c := range columns {
			cell, err := c.cell(row)
			if err != nil {
				return err
			}
			cells = append(cells, strings.ReplaceAll(cell, "\t", " "))
		}
		fmt.Fprintln(lines, strings.Join(cells, "\t"))
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, escape.Text(b.String()))
	return err
}

// cell is the content of the column for a row: its values, joined with commas.
func (c column) cell(row any) (string, error) {
	found, err := c.path.FindResults(row)
	if err != nil {
		return "", fmt.Errorf("executing the path of column %q: %w", c.header, err)
	}
	var out []string
	for _, results := range found {
		for _, v := range results {
			if !v.IsValid() || !v.CanInterface() {
				return "", errors.New("executing the path of column " + c.header + ": no value")
			}
			out = append(out, fmt.Sprint(v.Interface()))
		}
	}
	if len(out) == 0 {
		return "<none>", nil
	}
	return strings.Join(out, ","), nil
}

// decode returns a value as decoded JSON, with integers as int64.
func decode(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(raw, into)
}

// ListChanges describes what changed between two reports of an audit, one change on each line. Without a report before,
// it describes what is not well. A finding that is not in the second report is resolved only if everything that it
// depends on could be read.
func ListChanges(before, after *report.Audit) []string {
	if before == nil {
		s := after.Summary
		out := []string{fmt.Sprintf("audit: objects ready: %d/%d, bundle deployments: %d, without a result: %d, "+
			"errors: %d, warnings: %d, not read: %d",
			s.Counts.Ready, s.Counts.Desired, s.BundleDeployments, after.WithoutResult(), s.Findings.Error,
			s.Findings.Warning, len(after.Gaps))}
		before = &report.Audit{}
		for _, bd := range after.BundleDeployments {
			if bd.State == report.Ready || bd.Reason == clusterNotRead && stateOf(&bd) == notReadButReady {
				before.BundleDeployments = append(before.BundleDeployments, bd) // only what is not well
			}
		}
		return append(out, ListChanges(before, after)...)
	}
	place, c := onCluster(before, after), report.Compare(before, after, "")
	lost := slices.ContainsFunc(c.Gaps, func(g report.GapChange) bool { return g.Effect == report.EffectUnknown })
	return slices.Concat(gaps(c, after), deployments(before, after, lost, place), findings(c, lost, place))
}

// onCluster returns a function that returns the end of a line with the cluster; "" if the reports are about one
// cluster. Bundle deployments of downstream clusters, and objects, have the same names on several clusters.
func onCluster(reports ...*report.Audit) func(cluster string) string {
	clusters := map[string]bool{}
	for _, a := range reports {
		for i := range a.BundleDeployments {
			clusters[a.BundleDeployments[i].Cluster] = true
		}
	}
	return func(cluster string) string {
		if cluster == "" || len(clusters) < 2 {
			return ""
		}
		return " (cluster " + cluster + ")"
	}
}

// clusterNotRead is the reason of a bundle deployment on a cluster that was not read. Of these, only the state that
// Fleet reports changes.
const clusterNotRead, notReadButReady = "ClusterNotRead", "Unknown (Fleet reports Ready)"

// stateOf is the state of a bundle deployment, with the reason if it has no result.
func stateOf(bd *report.BundleDeployment) string {
	switch {
	case bd.Reason == clusterNotRead && bd.Reported != nil && bd.Reported.State != "":
		return fmt.Sprintf("%s (Fleet reports %s)", bd.State, bd.Reported.State)
	case bd.Reason != "":
		return fmt.Sprintf("%s (%s)", bd.State, bd.Reason)
	}
	return string(bd.State)
}

func states(a *report.Audit) map[report.DeploymentKey]string {
	out := map[report.DeploymentKey]string{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		out[report.KeyOf(bd)] = stateOf(bd)
	}
	return out
}

// deployments describes the bundle deployments whose state changed. lost says that the second report has a new gap.
func deployments(before, after *report.Audit, lost bool, place func(cluster string) string) []string {
	was, is := states(before), states(after)
	gone := "deleted"
	if lost {
		gone = notRead
	}
	var out []string
	add := func(key report.DeploymentKey, change string) {
		out = append(out, fmt.Sprintf("bundledeployment %s %s%s", key.Key, change, place(key.Cluster)))
	}
	for i := range after.BundleDeployments {
		key := report.KeyOf(&after.BundleDeployments[i])
		switch old, known := was[key]; {
		case !known:
			add(key, is[key])
		case old != is[key]:
			add(key, old+" -> "+is[key])
		}
	}
	for i := range before.BundleDeployments {
		if key := report.KeyOf(&before.BundleDeployments[i]); is[key] == "" {
			add(key, was[key]+" -> "+gone)
		}
	}
	return out
}

const notRead = "unknown (it could not be read)"

// findings describes the findings on each cluster, with one difference to compare: after a new gap, no finding is
// resolved. The lines of a watch are read one by one, without the gap that explains them.
func findings(c *report.Comparison, lost bool, place func(cluster string) string) []string {
	var out, gone []string
	for _, f := range c.Findings {
		text := f.Message + place(f.Cluster)
		switch {
		case f.Before == "":
			out = append(out, fmt.Sprintf("finding %s %s: %s", f.ID, f.After, text))
		case f.After != "":
			out = append(out, fmt.Sprintf("finding %s %s -> %s: %s", f.ID, f.Before, f.After, text))
		case lost || f.Effect == report.EffectUnknown:
			gone = append(gone, fmt.Sprintf("finding %s %s -> %s: %s", f.ID, f.Before, notRead, text))
		default:
			gone = append(gone, fmt.Sprintf("finding %s %s -> resolved: %s", f.ID, f.Before, text))
		}
	}
	return append(out, gone...)
}

// gaps describes the gaps that only one of two reports has. A gap for another reason is not read again.
func gaps(c *report.Comparison, after *report.Audit) []string {
	var out []string
	for _, g := range c.Gaps {
		what := g.What
		if g.Cluster != "" {
			what = "cluster " + g.Cluster + ": " + g.What
		}
		remains := slices.ContainsFunc(after.Gaps, func(x report.Gap) bool {
			return x.Cluster == g.Cluster && x.What == g.What
		})
		switch {
		case g.Effect == report.EffectUnknown:
			out = append(out, fmt.Sprintf("not read: %s: %s", what, g.Why()))
		case !remains:
			out = append(out, "read again: "+what)
		}
	}
	return out
}
