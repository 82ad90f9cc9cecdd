// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/comparison"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/suppress"
)

const (
	ignoreFileFlag = "ignore-file"
	baselineFlag   = "baseline"

	defaultIgnoreFile = ".fleetdoctor.yaml"

	maxIgnoreFile = 1 << 20
)

// suppression are the flags that remove findings from the report, and what they name.
type suppression struct {
	ignoreFile, baselineFile string

	ignore   *suppress.IgnoreFile // nil without one
	implied  bool                 // the ignore file is the default
	baseline *suppress.Baseline   // nil without one
}

func (s *suppression) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.ignoreFile, ignoreFileFlag, defaultIgnoreFile,
		"File with findings to ignore, with a reason for each; the default is used if it exists in the current "+
			"directory; '' reads none")
	fs.StringVar(&s.baselineFile, baselineFlag, "",
		"Report of an earlier audit (-o json or yaml): report only the findings that it does not have")
}

// load reads the files. stated is true if the user states the ignore file, selected are the findings that the report
// will have, audit is the command for hints.
func (s *suppression) load(stated bool, selected *report.Filter, audit string) error {
	s.implied = !stated
	if s.ignoreFile != "" {
		content, err := readIgnoreFile(s.ignoreFile, stated)
		switch {
		case err != nil:
			err = fmt.Errorf("reading the ignore file: %w", err)
		case content != nil:
			s.ignore, err = suppress.ParseIgnoreFile(s.ignoreFile, content)
		}
		if err != nil {
			return &exit.Error{Status: exit.Usage, Err: err, Hint: check.Pages + "ignore.md describes the file. --" +
				ignoreFileFlag + "='' reads none."}
		}
	}
	if s.baselineFile != "" {
		content, err := input.ReadFile(s.baselineFile, comparison.MaxReport)
		if err == nil {
			s.baseline, err = suppress.NewBaseline(s.baselineFile, content, selected)
		}
		if err != nil {
			return baselineError(err, audit)
		}
	}
	return nil
}

// baselineError is the error of a baseline that cannot be used, with the command that makes one.
func baselineError(err error, audit string) error {
	return &exit.Error{Status: exit.Usage, Err: fmt.Errorf("reading the baseline: %w", err), Hint: audit +
		" -o json > baseline.json makes a baseline."}
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
