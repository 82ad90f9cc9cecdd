// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// TestLimitObjects checks which records lose their objects: those of a namespace with too many, and of the namespaces
// with most if all of them have too many. Records that somebody else vouches for do not count, and superseded ones do
// not.
func TestLimitObjects(t *testing.T) {
	const many = 20_000 // the limit of one record
	type record struct {
		namespace, status string
		lost              error
	}
	of := func(namespace string, lost error) record { return record{namespace, release.StatusDeployed, lost} }
	superseded := func(namespace string) record { return record{namespace, release.StatusSuperseded, nil} }
	for what, records := range map[string][]record{
		"within the limits": {of("a", nil), of("a", nil), of("a", nil), of("b", nil), of("b", nil)},
		"a namespace with too many": {of("a", errNamespaceObjects), of("a", errNamespaceObjects),
			of("a", errNamespaceObjects), of("a", errNamespaceObjects), of("b", nil)},
		"all with too many": {of("a", nil), of("a", nil), of("b", errObjects), of("b", errObjects),
			of("b", errObjects), of("c", nil)},
		"superseded": {of("a", nil), superseded("a"), superseded("a"), superseded("a"), superseded("a")},
		"trusted": {of("trusted", nil), of("trusted", nil), of("trusted", nil), of("trusted", nil),
			of("trusted", nil), of("trusted", nil), of("cattle-fleet-system", nil), of("a", nil)},
		"named by Fleet": {of("cluster-edge", nil), of("cluster-edge", nil), of("cluster-edge", nil),
			of("cluster-edge", nil)},
		"named by a tenant": {of("a", errNamespaceObjects), of("a", errNamespaceObjects), of("a", errNamespaceObjects),
			of("a", errNamespaceObjects)},
	} {
		c := Cluster{}
		var f Fleet
		for i, x := range records {
			r := &Record{Objects: make([]release.Object, many)}
			r.Name = release.Name{Namespace: x.namespace, Name: fmt.Sprint("r", i), Revision: 1}
			r.BundleID, r.Status = r.Name.Name, x.status
			c.AddRecord(r)
			if strings.HasPrefix(what, "named") {
				bd := &v1alpha1.BundleDeployment{}
				bd.Namespace, bd.Status.Release = x.namespace, r.String()
				f.BundleDeployments = append(f.BundleDeployments, bd)
			}
		}
		c.LimitObjects(&f, func(namespace string) bool { return namespace == "trusted" })
		for n, r := range c.Records {
			var i int
			if _, err := fmt.Sscanf(n.Name, "r%d", &i); err != nil {
				t.Fatal(err)
			}
			lost := records[i].lost
			isLost := len(r.Objects) == 0 && r.OverBound != ""
			if !errors.Is(r.ManifestError, lost) || isLost != (lost != nil) {
				t.Errorf("%s: record %s has %d objects and the error %v, want %v", what, n, len(r.Objects),
					r.ManifestError, lost)
			}
		}
	}
}
