// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// grant is what a role lets somebody do with some resources, everywhere or in one namespace.
type grant struct {
	namespace, group string
	resources        []string
	names            []string // of single objects; none means all
	verbs            []string
}

// rule grants verbs on a resource everywhere; several resources of a group are parted by commas.
func rule(group, resources string, verbs ...string) grant {
	return grant{group: group, resources: strings.Split(resources, ","), verbs: verbs}
}

// in narrows a grant down to a namespace.
func (g grant) in(namespace string) grant {
	g.namespace = namespace
	return g
}

// named narrows a grant down to single objects.
func (g grant) named(names ...string) grant {
	g.names = names
	return g
}

// user returns a kubeconfig of somebody who may do this and nothing else, from now to the end of the test.
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

// allowed returns when the server, which learns of roles a moment later, allows what they grant.
func (f *fleetServer) allowed(user string, g grant) {
	f.t.Helper()
	f.AwaitGranted(f.t, authorizationv1.SubjectAccessReviewSpec{User: user}, g.namespace, g.rule())
}

func (g grant) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{g.group}, Resources: g.resources, ResourceNames: g.names, Verbs: g.verbs}
}
