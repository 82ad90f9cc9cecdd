// SPDX-License-Identifier: Apache-2.0

// Package audit is the verb audit.
package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	serverCheckFlag = "server-check"
	statusOnlyFlag  = "status-only"
	summaryFlag     = "summary"
	byFlag          = "by"
)

// options are the flags, and what the verb runs with.
type options struct {
	*query.Options
	scope  *input.ScopeFlags
	filter *output.Filter

	summary         bool
	requireComplete bool
	statusOnly      bool
	printRBAC       bool
	suppression
	by          *cli.Enum
	failOn      *cli.Enum
	serverCheck *cli.Enum

	auditOptions engine.Options
	selected     report.Filter
}

// NewCommand returns the verb.
func NewCommand(env cli.Environment) *cobra.Command {
	o := &options{
		Options: query.New(env, formats()...),
		filter:  output.NewFilter(),
		by:      cli.NewEnum("", printers.By...),
		failOn:  cli.NewEnum("warning", "none", "info", "warning", "error"),
		serverCheck: cli.NewEnum(string(collect.CheckNever), string(collect.CheckAuto), string(collect.CheckAlways),
			string(collect.CheckNever)),
	}
	o.scope, o.Clusters = input.NewScope(o.Flags, engine.DesiredRelease), input.NewClusters(o.Flags)
	o.Diff, o.Repeats = &output.DiffFlags{}, true
	c := &cobra.Command{Use: "audit [KIND/NAME ... | KIND [NAME ...] | NAME]",
		Short:             "Compare live objects with what the bundles specify",
		ValidArgsFunction: input.CompleteAny}
	o.Setup(c, o, input.NamespaceUsage+". On a downstream cluster, the namespace of the releases"+
		input.ObjectNamespace)
	o.addFlags(c)
	return c
}

// addFlags adds the flags that only this verb has.
func (o *options) addFlags(c *cobra.Command) {
	fs := c.Flags()
	o.scope.AddFlags(c)
	o.scope.AddDesiredFlag(c)
	o.AddRowsFlag(c, report.Audit{}, "bundleDeployments")
	o.AddSortFlag(c, "bundle deployments", "name or counts.missing")
	o.filter.AddFlags(c)
	o.Diff.AddFlags(fs, "Show the fields that differ as a unified diff, with who wrote them and when")
	fs.BoolVar(&o.summary, summaryFlag, false,
		"Show only the result: what is ready, the number of findings, and what was not read")
	o.by.AddTo(c, byFlag, "Count the bundle deployments by their states, for each bundle, cluster or GitRepo")
	o.failOn.AddTo(c, "fail-on", "Exit with status 1 on findings of this severity or above")
	fs.BoolVar(&o.requireComplete, "require-complete", false, "Exit with status 3 if anything could not be read")
	fs.BoolVar(&o.statusOnly, statusOnlyFlag, false,
		"Check only the status that Fleet reports; read no release record and no live object")
	o.serverCheck.AddTo(c, serverCheckFlag,
		"Confirm differences with a server-side dry run, which calls admission webhooks: where permitted (auto), for "+
			"every object (always), or never")
	o.suppression.addFlags(fs)
	fs.BoolVar(&o.printRBAC, "print-rbac", false, "Print the smallest role that may read what an audit of this "+
		"source reads, and exit: a ClusterRole, or with --namespace the Roles for a workspace")
}

const patchesFormat, treeFormat = "compare-patches", "tree"

// formats are the formats that only the report of an audit has.
func formats() []output.Format {
	return []output.Format{
		{Name: treeFormat},
		format(patchesFormat, export.WriteComparePatches),
		format("junit", export.WriteJUnit),
		format("sarif", export.WriteSARIF),
		format("html", export.WriteHTML),
		format("markdown", export.WriteMarkdown),
	}
}

// format returns a format whose name is an argument of -o.
func format(name string, write func(io.Writer, *report.Audit) error) output.Format {
	return output.Format{Name: name, Write: func(w io.Writer, content any) error {
		a, ok := content.(*report.Audit)
		if !ok {
			return fmt.Errorf("writing a %T as %s: only the report of an audit has this format", content, name)
		}
		return write(w, a)
	}}
}

const (
	ignoreFileFlag = "ignore-file"

	defaultIgnoreFile = ".fleetdoctor.yaml"

	maxIgnoreFile = 1 << 20
)

// suppression is the flag that removes findings from the report, and what it names.
type suppression struct {
	ignoreFile string
	ignore     *report.IgnoreFile // nil without one
	implied    bool               // the ignore file is the default
}

func (s *suppression) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.ignoreFile, ignoreFileFlag, defaultIgnoreFile,
		"File with findings to ignore, with a reason for each; the default is used if it exists in the current "+
			"directory; '' reads none")
}

// load reads the file. stated is true if the user states it.
func (s *suppression) load(stated bool) error {
	s.implied = !stated
	if s.ignoreFile == "" {
		return nil
	}
	content, err := readIgnoreFile(s.ignoreFile, stated)
	switch {
	case err != nil:
		err = fmt.Errorf("reading the ignore file: %w", err)
	case content != nil:
		s.ignore, err = report.ParseIgnoreFile(s.ignoreFile, content)
	}
	if err != nil {
		return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: check.Pages +
			"output.md#ignored-findings describes the file. --" + ignoreFileFlag + "='' reads none."}
	}
	return nil
}

// readIgnoreFile returns the content of an ignore file; nil if the default does not exist. The default is read from the
// current directory only, also if it is a link.
func readIgnoreFile(name string, stated bool) ([]byte, error) {
	if stated {
		return input.ReadFile(name, maxIgnoreFile)
	}
	dir, err := os.OpenRoot(".")
	if err != nil {
		return nil, nil // without a directory, nothing is ignored
	}
	defer func() { _ = dir.Close() }() // it was only read
	info, err := dir.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("reading %s: it is not a file", name)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return input.ReadLimited(name, f, maxIgnoreFile)
}
