// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// Grant gives permissions to a user, in one namespace or, if it is empty, in all, until the end of the test.
func (c *Cluster) Grant(tb testing.TB, user, namespace string, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	if len(rules) == 0 {
		return
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	meta := metav1.ObjectMeta{Namespace: namespace, GenerateName: "test-"}
	if namespace == "" {
		role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
		c.Create(tb, role)
		meta.Name, meta.GenerateName = role.Name, ""
		c.Create(tb, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}})
	} else {
		role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
		c.Create(tb, role)
		meta.Name, meta.GenerateName = role.Name, ""
		c.Create(tb, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}})
	}
	c.AwaitGranted(tb, authorizationv1.SubjectAccessReviewSpec{User: user}, namespace, rules...)
}

// AwaitGranted returns when the server allows a user everything that these rules grant, in one namespace or, if it
// is empty, in all: it starts to enforce roles and bindings a moment after they are stored. The User and the
// Groups of the review identify the user.
func (c *Cluster) AwaitGranted(tb testing.TB, who authorizationv1.SubjectAccessReviewSpec, namespace string,
	rules ...rbacv1.PolicyRule) {
	tb.Helper()
	for _, rule := range rules {
		// The server reads a role as a whole: one permission of each rule is sufficient.
		permission := authorizationv1.ResourceAttributes{Namespace: namespace, Group: rule.APIGroups[0],
			Resource: rule.Resources[0], Verb: rule.Verbs[0]}
		if len(rule.ResourceNames) > 0 {
			permission.Name = rule.ResourceNames[0]
		}
		poll.Until(tb, func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: who}
			review.Spec.ResourceAttributes = &permission
			if err := c.client.Create(tb.Context(), review); err != nil {
				return err
			}
			if !review.Status.Allowed {
				return fmt.Errorf("%s may not %s %s yet", who.User, permission.Verb, permission.Resource)
			}
			return nil
		})
	}
}
