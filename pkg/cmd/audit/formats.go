// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/comparepatches"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/html"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/junit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/markdown"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/sarif"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const patchesFormat, treeFormat = "compare-patches", "tree"

// formats are the formats that only the report of an audit has.
func formats() []output.Format {
	return []output.Format{
		{Name: treeFormat},
		format(patchesFormat, comparepatches.Write),
		format("junit", junit.Write),
		format("sarif", sarif.Write),
		format("html", html.Write),
		format("markdown", markdown.Write),
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
