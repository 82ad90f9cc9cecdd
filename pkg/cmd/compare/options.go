// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
)

// options are what the verb runs with.
type options struct {
	*query.Options
	asVersion     flags.FleetVersion
	before, after string // after is empty for the current cluster
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) error {
	switch len(args) {
	case 1:
		o.before = args[0]
	case 2:
		o.before, o.after = args[0], args[1]
	default:
		return errors.New("one or two arguments are required: snapshots or reports")
	}
	return nil
}

// Validate implements verb.Options.
func (o *options) Validate() error {
	switch {
	case o.asVersion.String() != "" && (o.after != "" || o.Captured()):
		return errors.New("--" + flags.AsVersionFlag + " takes one snapshot: it is compared with itself")
	case o.after != "" && o.Captured():
		return errors.New("AFTER and --snapshot are mutually exclusive")
	case o.before == "-" && o.after == "-":
		return errors.New("standard input can only be read once")
	}
	return nil
}

// progress shows what is being read.
func (o *options) progress(doing string) *input.Reading {
	r := &input.Reading{Progress: o.StartProgress()}
	r.Show(doing, 0)
	return r
}
