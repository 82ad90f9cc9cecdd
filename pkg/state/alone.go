// SPDX-License-Identifier: Apache-2.0

package state

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"

// RecordsAlone reports whether there is a record of Fleet, or one that could not be read, of a release that none of
// these BundleDeployments names.
func (c *Cluster) RecordsAlone(f *Fleet) bool {
	named := map[string]bool{}
	for _, bd := range f.BundleDeployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil {
			named[n.Release()] = true
		}
	}
	for n := range c.Records {
		if !named[n.Release()] {
			return true
		}
	}
	return false
}
