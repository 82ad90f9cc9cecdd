// SPDX-License-Identifier: Apache-2.0

package query

import (
	"errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// compareVerb are what the verb runs with.
type compareVerb struct {
	*Options
	asVersion     cli.FleetVersion
	before, after string // after is empty for the current cluster
}

// Complete implements cli.Options.
func (o *compareVerb) Complete(args []string) error {
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

// Validate implements cli.Options.
func (o *compareVerb) Validate() error {
	switch {
	case o.asVersion.String() != "" && (o.after != "" || o.Captured()):
		return errors.New("--" + cli.AsVersionFlag + " takes one snapshot: it is compared with itself")
	case o.after != "" && o.Captured():
		return errors.New("AFTER and --snapshot are mutually exclusive")
	case o.before == "-" && o.after == "-":
		return errors.New("standard input can only be read once")
	}
	return nil
}

// progress shows what is being read.
func (o *compareVerb) progress(doing string) *input.Reading {
	r := &input.Reading{Progress: o.StartProgress()}
	r.Show(doing, 0)
	return r
}
