// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// grant is what a role lets somebody do with some resources, everywhere or in one namespace.
type grant struct {
	namespace, group string
	resources        []string
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

// user returns a kubeconfig of somebody who may do this and nothing else, from now to the end of the test.
func (f *fleetServer) user(name string, grants ...grant) (kubeconfig string) {
	f.t.Helper()
	for i, g := range grants {
		f.grant(fmt.Sprintf("e2e-%s-%d", name, i), name, g)
	}
	return f.UserKubeconfig(f.t, name)
}

func (f *fleetServer) grant(role, user string, g grant) {
	f.t.Helper()
	kind, namespace := "Cluster", ""
	if g.namespace != "" {
		kind, namespace = "", ", namespace: "+g.namespace
	}
	const group = "rbac.authorization.k8s.io"
	f.ApplyYAML(f.t, "admin", fmt.Sprintf(`
{apiVersion: %[1]s/v1, kind: %[2]sRole, metadata: {name: %[3]s%[4]s}, rules: [{apiGroups: [%[5]q], resources: [%[6]s], verbs: [%[7]s]}]}
---
apiVersion: %[1]s/v1
kind: %[2]sRoleBinding
metadata: {name: %[3]s%[4]s}
roleRef: {apiGroup: %[1]s, kind: %[2]sRole, name: %[3]s}
subjects: [{apiGroup: %[1]s, kind: User, name: %[8]s}]
`, group, kind, role, namespace, g.group, quoted(g.resources), quoted(g.verbs), user))
	f.removeAtEnd(object(group+"/v1", kind+"Role", g.namespace, role))
	f.removeAtEnd(object(group+"/v1", kind+"RoleBinding", g.namespace, role))
	f.allowed(user, g)
}

// allowed returns when the server, which learns of roles a moment later, allows what they grant.
func (f *fleetServer) allowed(user string, g grant) {
	f.t.Helper()
	eventually(f.t, func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: g.namespace, Group: g.group, Resource: g.resources[0], Verb: g.verbs[0]}}}
		if err := f.Client().Create(f.t.Context(), review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("granting %+v to %s: not yet", g, user)
		}
		return nil
	})
}

func quoted(words []string) string { return `"` + strings.Join(words, `", "`) + `"` }
