// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"strings"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

// directoryArgs repeat the flags that name the directory, "" without one.
func (f *ScopeFlags) directoryArgs() string {
	var args []string
	for _, flag := range []struct{ name, value string }{{"-f", f.directory}, {"--gitrepo", f.gitRepo},
		{"--path", f.path}} {
		if flag.value != "" {
			args = append(args, flag.name, escape.Shell(flag.value))
		}
	}
	return strings.Join(args, " ")
}

// Args are the arguments and flags that repeat the scope, each after a blank. targets are the arguments.
func (f *ScopeFlags) Args(targets []string) string {
	out := ""
	for _, target := range targets {
		out += " " + escape.Shell(target)
	}
	if namespace := *f.in.Config.Namespace; namespace != "" {
		out += " -n " + escape.Shell(namespace)
	}
	if f.selector != "" {
		out += " -l " + escape.Shell(f.selector)
	}
	if files := f.directoryArgs(); files != "" {
		out += " " + files
	}
	return out
}

// from parses the flags that select the source of desired objects.
func (f *ScopeFlags) from(scope evaluate.Scope) (engine.Desired, error) {
	from := engine.Desired(f.desired.String())
	switch {
	case f.directory == "" && f.in.Changed(directoryFlag):
		return "", errors.New("-f is empty: it must name a directory")
	case f.directory == "" && from == engine.DesiredFiles:
		return "", errors.New("--desired=files requires -f with the directory of a bundle")
	case f.directory == "" && (f.in.Changed("gitrepo") || f.in.Changed("path")):
		return "", errors.New("--gitrepo and --path require -f: they name the repository of its directory")
	case f.directory == "":
		return from, nil
	case !scope.Whole():
		return "", errors.New("-f and bundles, --namespace or --selector are mutually exclusive: the directory is " +
			"the scope")
	case f.in.Changed(desiredFlag) && from != engine.DesiredFiles:
		return "", fmt.Errorf("-f and --desired=%s are mutually exclusive", from)
	}
	return engine.DesiredFiles, nil
}

// LoadDirectory reads the directory of -f into the options. Its errors are those of files.Load.
func (f *ScopeFlags) LoadDirectory(o *engine.Options) error {
	if f.directory == "" {
		return nil
	}
	in, err := files.LoadAll(f.directory, files.Options{GitRepo: f.gitRepo, Path: f.path})
	if errors.Is(err, files.ErrNoName) {
		return cli.UsageError(fmt.Errorf("%s: %w; add --gitrepo=NAME and --path=PATH", f.directory, err))
	}
	if err != nil {
		return cli.Failure(fmt.Errorf("%s: %w", f.directory, err),
			"-f must name a directory with at least one bundle, such as a path of a GitRepo.")
	}
	o.Files = in
	return nil
}
