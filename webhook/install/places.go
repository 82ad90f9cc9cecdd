// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"strings"
)

// unfit are namespaces of the cluster itself and of Fleet's. The webhook is kept away from all of them but default, and an uninstallation may
// delete the namespace that it is in.
var unfit = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system", "fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// Fit says whether a webhook may be installed into a namespace: not into those of the cluster or of Fleet, which also keeps one for each cluster.
func Fit(namespace string) bool {
	return !slices.Contains(unfit, namespace) && !strings.HasPrefix(namespace, "cattle-fleet-") && !strings.HasPrefix(namespace, "cluster-fleet-")
}
