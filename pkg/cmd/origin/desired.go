// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

// Desired mirrors the flags that say where desired objects are taken from. Make them with AddDesiredFlags.
type Desired struct {
	from                    *flags.Enum
	folder, gitRepo, inRepo string
	given                   *cobra.Command
}

// The names of these flags.
const (
	desiredFlag = "desired"
	folderFlag  = "filename"
)

// AddDesiredFlags adds the flags that say where desired objects are taken from; def is where, unless they say otherwise.
func AddDesiredFlags(c *cobra.Command, def engine.Desired) *Desired {
	d := &Desired{given: c, from: flags.NewEnum(string(def), string(engine.DesiredAuto), string(engine.DesiredRelease), string(engine.DesiredBundle), string(engine.DesiredFiles))}
	c.Flags().Var(d.from, desiredFlag, "What is desired: the release record, the bundle rendered from its contents, the first of the two that is there (auto), or the files of -f")
	d.addFolder()
	if err := c.RegisterFlagCompletionFunc(desiredFlag, d.from.Complete); err != nil {
		return d // the flag was just added: there is nothing that could be missing
	}
	return d
}

// AddFolderFlags adds the flags that name a bundle's directory, to a verb that looks at bundles and never at releases.
func AddFolderFlags(c *cobra.Command) *Desired {
	d := &Desired{given: c, from: flags.NewEnum(string(engine.DesiredBundle), string(engine.DesiredBundle))}
	d.addFolder()
	return d
}

func (d *Desired) addFolder() {
	f := d.given.Flags()
	f.StringVarP(&d.folder, folderFlag, "f", "", "Directory of a bundle, with or without a fleet.yaml, whose objects are desired; no other bundle is in scope")
	f.StringVar(&d.gitRepo, "gitrepo", "", "GitRepo that the directory of -f is of: the bundle is named after it, unless its fleet.yaml names it")
	f.StringVar(&d.inRepo, "path", "", "Path of the directory of -f within the repository")
}

// Args repeat the flags that name the directory, "" where none is named.
func (d *Desired) Args() string {
	var args []string
	for _, flag := range []struct{ name, value string }{{"-f", d.folder}, {"--gitrepo", d.gitRepo}, {"--path", d.inRepo}} {
		if flag.value != "" {
			args = append(args, flag.name, shellescape.Quote(flag.value))
		}
	}
	return strings.Join(args, " ")
}

// Read reads the flags, and the directory where one is named. Its errors are usage errors, and those of files.Load.
func (d *Desired) Read(scope evaluate.Scope) (engine.Desired, *render.Input, error) {
	from := engine.Desired(d.from.String())
	given := func(name string) bool { return d.given.Flags().Changed(name) }
	switch {
	case d.folder == "" && given(folderFlag):
		return "", nil, exit.UsageError(errors.New("-f takes a directory"))
	case d.folder == "" && from == engine.DesiredFiles:
		return "", nil, exit.UsageError(errors.New("--desired=files takes -f with the directory of a bundle"))
	case d.folder == "" && (given("gitrepo") || given("path")):
		return "", nil, exit.UsageError(errors.New("--gitrepo and --path say of what repository the directory of -f is: there is none"))
	case d.folder == "":
		return from, nil, nil
	case !scope.Whole():
		return "", nil, exit.UsageError(errors.New("-f and bundles, --namespace or --selector exclude each other: the directory is the scope"))
	case given(desiredFlag) && from != engine.DesiredFiles:
		return "", nil, exit.UsageError(fmt.Errorf("-f and --desired=%s exclude each other", from))
	}
	in, err := files.Load(d.folder, files.Options{GitRepo: d.gitRepo, Path: d.inRepo})
	if err != nil {
		return "", nil, &exit.Error{Status: exit.Failed, Err: fmt.Errorf("%s: %w", d.folder, err), Hint: "-f takes the directory of one bundle, as a GitRepo's paths name it."}
	}
	return engine.DesiredFiles, in, nil
}
