// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// grant is the verbs on resources that a user gets, in one namespace or in all.
type grant struct {
	namespace, group string
	resources        []string
	names            []string // of objects; empty means all
	verbs            []string
}

// rule grants verbs on resources of one group in all namespaces. Commas separate resources.
func rule(group, resources string, verbs ...string) grant {
	return grant{group: group, resources: strings.Split(resources, ","), verbs: verbs}
}

// in limits a grant to a namespace.
func (g grant) in(namespace string) grant {
	g.namespace = namespace
	return g
}

// named limits a grant to objects with these names.
func (g grant) named(names ...string) grant {
	g.names = names
	return g
}

// user returns a kubeconfig of a user with only these grants, until the test ends.
func (f *fleetServer) user(name string, grants ...grant) (kubeconfig string) {
	f.t.Helper()
	f.grant(name, grants...)
	return f.UserKubeconfig(f.t, name)
}

func (f *fleetServer) grant(user string, grants ...grant) {
	f.t.Helper()
	for _, g := range grants {
		f.Grant(f.t, user, g.namespace, g.rule())
	}
}

// awaitGrant returns when the server allows what a role grants; it starts to enforce a role a moment after it is
// stored.
func (f *fleetServer) awaitGrant(user string, g grant) {
	f.t.Helper()
	f.AwaitGranted(f.t, authorizationv1.SubjectAccessReviewSpec{User: user}, g.namespace, g.rule())
}

func (g grant) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{g.group}, Resources: g.resources, ResourceNames: g.names,
		Verbs: g.verbs}
}
