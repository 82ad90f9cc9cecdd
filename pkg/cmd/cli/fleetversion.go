// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// FleetVersion is a flag with a version of Fleet. It implements pflag.Value.
type FleetVersion struct{ value string }

var _ pflag.Value = (*FleetVersion)(nil)

// String returns the version as the tag of an image; empty if the flag is not given.
func (v *FleetVersion) String() string { return v.value }

// Type is the placeholder of the value in help.
func (v *FleetVersion) Type() string { return "version" }

var fleetVersion = regexp.MustCompile(`^v?(0\.\d{1,4})(\.\d{1,4}(?:-[0-9A-Za-z.]+)?)?$`)

// Set parses a version. 0.13 is 0.13.0.
func (v *FleetVersion) Set(s string) error {
	m := fleetVersion.FindStringSubmatch(s)
	if m == nil {
		return errors.New("must be a version of Fleet, such as 0.13 or 0.13.2")
	}
	if m[2] == "" {
		m[2] = ".0"
	}
	tag := "v" + strings.Join(m[1:], "")
	if known, _ := fleet.ParseVersion(tag); known.Minor < fleet.OldestKnown || known.Minor > fleet.NewestKnown {
		return fmt.Errorf("the rules of Fleet %s are not known: must be 0.%d to 0.%d", m[1], fleet.OldestKnown,
			fleet.NewestKnown)
	}
	v.value = tag
	return nil
}

// AsVersionFlag is the name of the flag that evaluates for another version of Fleet.
const AsVersionFlag = "as-version"
