// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
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
	v.value = "v" + strings.Join(m[1:], "")
	return nil
}

// AsVersionFlag is the name of the flag that evaluates for another version of Fleet.
const AsVersionFlag = "as-version"
