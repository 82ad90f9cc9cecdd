// SPDX-License-Identifier: Apache-2.0

package resolve

// StatedNamespaces returns the release namespaces for which a bundle deployment of this cluster states labels or annotations.
func (c *Cluster) StatedNamespaces() map[string]bool {
	out := map[string]bool{}
	for _, bd := range c.fleet.BundleDeployments {
		o := &bd.Spec.Options
		if len(o.NamespaceLabels)+len(o.NamespaceAnnotations) > 0 && c.AgentOf(bd.Namespace) != "" {
			out[o.ReleaseNamespace()] = true
		}
	}
	return out
}
