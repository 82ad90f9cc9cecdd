// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const (
	workspaceHead = "With these Roles, audit and why show what Fleet reports of workspace %s " +
		"(audit --status-only). They permit reading no Secret. The BundleDeployments of a Cluster are " +
		"in a namespace of their own."
	workspaceUnknown = "The Clusters of the workspace could not be read: add a Role like the second one for the " +
		"namespace in status.namespace of each Cluster."
	workspaceObjects = "# To evaluate objects too, add list on secrets (the release records) and on the deployed " +
		`kinds, in the
# namespaces of the releases%s.
# To bind the Roles, for each of their namespaces:
#   kubectl -n NAMESPACE create rolebinding ` + roleName + ` --role=` + roleName + ` --user=NAME
`
)

// workspaceRoles returns the smallest Roles that may read what Fleet reports of a workspace, as YAML. src is nil
// without a source.
func workspaceRoles(ctx context.Context, src source.Source, workspace string) ([]byte, error) {
	var of deployedWorkspace
	if src != nil {
		var err error
		if of, err = deployedNamespaces(ctx, src, workspace); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	b.WriteString(comment(fmt.Sprintf(workspaceHead, workspace)))
	clusters := of.Clusters
	if len(clusters) == 0 {
		b.WriteString(comment(workspaceUnknown))
		clusters = []string{"NAMESPACE-OF-THE-CLUSTER"}
	}
	roles := []*rbacv1.Role{workspaceRole(workspace, "bundlenamespacemappings", "bundles", "clustergroups",
		"clusterregistrations", "clusters", "gitrepos", "helmops", "imagescans", "schedules")}
	for _, ns := range clusters {
		roles = append(roles, workspaceRole(ns, "bundledeployments"))
	}
	for i, role := range roles {
		if i > 0 {
			b.WriteString("---\n")
		}
		body, err := yaml.Marshal(role)
		if err != nil {
			return nil, err
		}
		b.Write(body)
	}
	in := ""
	if len(of.Releases) > 0 {
		in = ":\n# " + strings.Join(of.Releases, ", ")
	}
	fmt.Fprintf(&b, workspaceObjects, in)
	return []byte(b.String()), nil
}

// workspaceRole returns a Role that permits listing some of Fleet's resources.
func workspaceRole(namespace string, resources ...string) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: roleName, Namespace: namespace},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"fleet.cattle.io"}, Resources: resources,
			Verbs: []string{"list"}}},
	}
}
