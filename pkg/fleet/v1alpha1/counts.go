// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ObjectKey identifies an object in the lists of a status. Objects in two versions of a kind have two keys.
type ObjectKey struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// Key identifies the object.
func (m *ModifiedStatus) Key() ObjectKey {
	return ObjectKey{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
}

// Sum returns the number of BundleDeployments in all states. Fleet newer than this program can have other states.
func (s *Summary) Sum() int {
	return s.Ready + s.NotReady + s.WaitApplied + s.ErrApplied + s.OutOfSync + s.Modified + s.Pending
}
