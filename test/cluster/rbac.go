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

// Grant lets a user do something, in one namespace or, if that is empty, everywhere, from now to the end of the test.
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

// AwaitGranted returns when the server, which learns of roles and bindings a moment after it stored them, allows somebody everything that these rules
// do: in one namespace or, if that is empty, everywhere. Who it is, is the User and the Groups of a review.
func (c *Cluster) AwaitGranted(tb testing.TB, who authorizationv1.SubjectAccessReviewSpec, namespace string, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	for _, rule := range rules {
		// The server takes in a role as a whole: one right of each rule stands for all.
		right := authorizationv1.ResourceAttributes{Namespace: namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: rule.Verbs[0]}
		if len(rule.ResourceNames) > 0 {
			right.Name = rule.ResourceNames[0]
		}
		poll.Until(tb, func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: who}
			review.Spec.ResourceAttributes = &right
			if err := c.client.Create(tb.Context(), review); err != nil {
				return err
			}
			if !review.Status.Allowed {
				return fmt.Errorf("%s may not %s %s yet", who.User, right.Verb, right.Resource)
			}
			return nil
		})
	}
}
