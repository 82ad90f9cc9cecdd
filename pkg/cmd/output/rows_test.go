// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestRows checks the list that --rows selects.
func TestRows(t *testing.T) {
	d := printable{document{Rows: []row{{Name: "one"}}, Others: []other{{Code: "OK",
		Rows: []row{{Name: "a"}, {Name: "b"}}}, {Code: "BAD"}}}}
	for args, want := range map[string]string{
		"-o custom-columns=N:.name":                               "N\none\n",
		"-o custom-columns=N:.name --rows=rows":                   "N\none\n",
		"-o custom-columns=C:.code,N:.rows[*].name --rows=others": "C     N\nOK    a,b\nBAD   <none>\n",
		"-o custom-columns=N:.rows[0].name,A:.rows[0].any.x --rows=others": "N        A\na        <none>\n<none>   " +
			"<none>\n",
		"-o custom-columns=C:.rows[?(@.name==\"b\")].name --rows=others": "C\nb\n<none>\n",
	} {
		if got, err := printedOf(t, d, strings.Fields(args)...); err != nil || got != want {
			t.Errorf("%s: %q, error %v, want %q", args, got, err, want)
		}
	}
}

// TestUnknownFields checks the errors and the hints for paths that no row can have, before anything is read.
func TestUnknownFields(t *testing.T) {
	for args, want := range map[string][2]string{
		"-o custom-columns=X:.nam": {`column "X": there is no field .nam`,
			"Did you mean \".name\"?\nFields: any, more, n, name"},
		"-o custom-columns=X:.code": {`column "X": there is no field .code`,
			"The rows are rows. --rows=others prints rows with this field.\n"},
		"-o custom-columns=X:.others[*].code": {`column "X": there is no field .others`,
			"The rows are rows. --rows=others prints"},
		"-o custom-columns=X:.rows.name --rows=others": {`column "X": .rows is a list: write .rows[*].name`, ""},
		"-o custom-columns=X:.rows[0].no --rows=others": {`column "X": there is no field .rows[*].no`,
			"Fields of .rows[*]: any, more, n, name"},
		"--rows=others":         {"--rows requires --output=custom-columns", ""},
		"-o json --rows=others": {"--rows requires --output=custom-columns", ""},
	} {
		out, err := printed(t, strings.Fields(args)...)
		explained, _ := errors.AsType[*cli.Error](err)
		if cli.ExitStatus(err) != cli.ExitUsage || out != "" || err.Error() != want[0] ||
			!strings.Contains(explained.Hint, want[1]) {
			t.Errorf("%s: %q, error %v, hint %q, want %q", args, out, err, explained.Hint, want)
		}
	}
}
