// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// defaultAccount is the name of the ServiceAccount with which an agent deploys a bundle that names none, if it exists.
const defaultAccount = "fleet-default"

// Account is the ServiceAccount with which the agent deploys a bundle, in the namespace of the agent. Its name is empty
// for the agent's own.
type Account struct {
	types.NamespacedName
	// Missing is true if it does not exist. Unread is why that is not known; empty if it is.
	Missing bool
	Unread  string
}

// User is the name with which the API server knows the ServiceAccount; empty if the agent's own rights count.
func (a Account) User() string {
	if a.Name == "" || a.Missing || a.Unread != "" {
		return ""
	}
	return "system:serviceaccount:" + a.Namespace + ":" + a.Name
}

// AccountOf returns the ServiceAccount of a bundle. found are those of the agents' namespaces that cover says were
// read. Source: docs/fleet-behavior.md, 4.9.
func AccountOf(d *directory.Deployment, found map[types.NamespacedName]bool, cover source.Coverage) Account {
	named, agent := d.Options().ServiceAccount, d.AgentNamespace()
	a := Account{NamespacedName: types.NamespacedName{Namespace: agent, Name: cmp.Or(named, defaultAccount)}}
	why, read := cover.Of(agent)
	switch {
	case agent == "" || named == "" && !found[a.NamespacedName]:
		return Account{}
	case found[a.NamespacedName]:
	case read:
		a.Missing = true
	default:
		a.Unread = cmp.Or(why.Detail, string(why.Reason))
	}
	return a
}
