// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
