// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

const (
	roleName = "fleetdoctor-audit"

	roleHead = "An audit reads Fleet's objects, Helm's release records, and the kinds that bundles deploy. It only " +
		"needs the verb list. " +
		"RBAC cannot distinguish release records from other Secrets: this rule permits reading every Secret. Without " +
		"it, no bundle has a result (FD607)."
	// roleKinds describes kinds that were read from the source, roleGuess the usual kinds if they could not be read.
	roleKinds = "The kinds are those that the bundles deploy now."
	roleGuess = "The kinds that the bundles deploy could not be read (%s): these are the usual ones. Add your custom " +
		"resources."
	// roleLess is what this role does not permit.
	roleLess = "With this role, an audit does not find orphaned objects of kinds that no bundle deploys now. It then " +
		"reports a gap, and with --require-complete " +
		"it exits with 3. To avoid that, add the rule in the comment below."
	roleTail = `# To find orphaned objects of kinds that no bundle deploys now, add:
#   - {apiGroups: ["*"], resources: ["*"], verbs: ["list"]}
# To adopt, add get and patch on the kinds. The list of namespaces identifies the cluster in the
# receipt by the uid of kube-system. To repair, also add create. For --allow=recreate and delete,
# add delete. For --allow=deploy, add get and patch on Fleet's objects and bundledeployments/status,
# and delete on secrets.
# To confirm differences with dry runs (--server-check=auto), add get and patch on the kinds;
# nothing is stored.
# For impact, add list on persistentvolumeclaims, persistentvolumes, and the custom resources of the
# CustomResourceDefinitions that would be deleted. Without it, they are reported as unknown.
# To bind the role:
#   kubectl create clusterrolebinding ` + roleName + ` --clusterrole=` + roleName + ` --user=NAME
`
)

// usualKinds are the kinds that most bundles deploy.
var usualKinds = map[string][]string{
	"": {"configmaps", "limitranges", "namespaces", "persistentvolumeclaims", "resourcequotas",
		"serviceaccounts", "services"},
	"apps":                      {"daemonsets", "deployments", "statefulsets"},
	"autoscaling":               {"horizontalpodautoscalers"},
	"batch":                     {"cronjobs", "jobs"},
	"networking.k8s.io":         {"ingresses", "networkpolicies"},
	"policy":                    {"poddisruptionbudgets"},
	"rbac.authorization.k8s.io": {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
}

// role returns the smallest role that may read what an audit of the source reads, as YAML. unread is the reason if
// there is no source.
func role(ctx context.Context, src source.Source, unread error) ([]byte, error) {
	var kinds []source.Kind
	if src != nil {
		kinds, unread = deployedKinds(ctx, src)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	resources, origin := map[string][]string{}, roleKinds
	for _, k := range kinds {
		resources[k.Group] = append(resources[k.Group], k.Resource)
	}
	if len(kinds) == 0 {
		resources, origin = maps.Clone(usualKinds), fmt.Sprintf(roleGuess,
			cmp.Or(unread, errors.New("there are no release records")))
	}
	body, err := yaml.Marshal(clusterRole(resources))
	if err != nil {
		return nil, err
	}
	return []byte(comment(roleHead) + comment(origin) + comment(roleLess) + string(body) + roleTail), nil
}

// comment formats a paragraph as a YAML comment of at most 100 columns. Longer words are not broken. The paragraph may
// contain names of a snapshot, which may contain control characters.
func comment(paragraph string) string {
	line := escape.Line(strings.Join(strings.Fields(paragraph), " "))
	return "# " + strings.ReplaceAll(wordwrap.WrapString(line, 98), "\n", "\n# ") + "\n"
}

func clusterRole(resources map[string][]string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: roleName},
	}
	resources["fleet.cattle.io"] = append(resources["fleet.cattle.io"], "bundledeployments", "bundlenamespacemappings",
		"bundles", "clustergroups", "clusterregistrations", "clusters", "contents", "gitrepos", "helmops", "imagescans",
		"schedules")
	// the configuration of the controller, labels on which targets may depend, and why a workload does not run
	resources[""] = append(resources[""], "configmaps", "namespaces", "persistentvolumeclaims", "pods", "secrets")
	// Fleet's own, for its versions and the scope of the agent, and what pods belong to
	resources["apps"] = append(resources["apps"], "deployments", "replicasets", "statefulsets")
	// they may set the number of replicas
	resources["autoscaling"] = append(resources["autoscaling"], "horizontalpodautoscalers")
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		names := slices.Sorted(slices.Values(resources[group]))
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Compact(names),
			Verbs: []string{"list"}})
	}
	return role
}

// deployedKinds returns the kinds that the bundles of a source deploy and that the source serves, ordered by group and
// kind.
func deployedKinds(ctx context.Context, src source.Source) ([]source.Kind, error) {
	r, err := audit.Read(ctx, src, audit.Options{})
	if err == nil {
		err = r.Found()
	}
	if err != nil {
		return nil, err
	}
	r.Resolve(nil, nil)
	kinds := map[schema.GroupKind]bool{}
	for _, c := range r.Desired.Clusters {
		desired := r.Desired.On(c.ID).Kinds()
		if f, all := c.State.Coverage.Records.Of(""); !all && len(desired) == 0 {
			return nil, fmt.Errorf("reading release records: %s", f.Reason)
		}
		maps.Copy(kinds, desired)
	}
	var out []source.Kind
	for _, k := range r.Reader.Kinds.All() {
		if kinds[k.GroupKind()] {
			out = append(out, k)
			delete(kinds, k.GroupKind()) // one version of it is enough
		}
	}
	return out, nil
}

// deployedWorkspace are the namespaces of what a workspace deploys, sorted: of the BundleDeployments of its
// Clusters, and of their releases. Those that could not be read are missing.
type deployedWorkspace struct{ Clusters, Releases []string }

// deployedNamespaces returns the namespaces of what a workspace deploys.
func deployedNamespaces(ctx context.Context, src source.Source, workspace string) (deployedWorkspace, error) {
	r, err := audit.ReadFleet(ctx, src, audit.Options{Scope: evaluate.Scope{Namespace: workspace}})
	if err != nil {
		return deployedWorkspace{}, err
	}
	f := r.Management
	f.BundleDeployments = slices.DeleteFunc(f.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Labels[fleet.BundleNamespaceLabel] != workspace
	})
	_, releases := f.SecretNamespaces()
	return deployedWorkspace{Clusters: f.InWorkspace(state.BundleDeployment, workspace), Releases: releases}, nil
}

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
	var deployed deployedWorkspace
	if src != nil {
		var err error
		if deployed, err = deployedNamespaces(ctx, src, workspace); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	b.WriteString(comment(fmt.Sprintf(workspaceHead, workspace)))
	clusters := deployed.Clusters
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
	if len(deployed.Releases) > 0 {
		in = ":\n# " + strings.Join(deployed.Releases, ", ")
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
