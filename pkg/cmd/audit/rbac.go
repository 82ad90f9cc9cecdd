// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const (
	roleName = "fleetdoctor-audit"

	roleHead = "What an audit reads: Fleet's own objects, Helm's release records, and the kinds that bundles deploy. It needs list alone. " +
		"RBAC cannot tell release records from other Secrets: the rule for them opens every Secret, and without it no bundle has a result (FD607)."
	// roleKinds is said where the kinds are those of the cluster or snapshot at hand, roleGuess where they could not be read.
	roleKinds = "The kinds are those that the bundles here deploy now."
	roleGuess = "The kinds that bundles deploy could not be read here (%s): these are those that most do. Add your custom resources."
	// roleLess is what this role does not do.
	roleLess = "It finds no leftovers in kinds that no bundle deploys any more: that search is then not complete, and with --require-complete an audit " +
		"ends with 3, unless the rule below that is commented out is added."
	roleTail = `# To find leftovers in kinds that no bundle deploys any more, add:
#   - {apiGroups: ["*"], resources: ["*"], verbs: ["list"]}
# To take what is desired from the bundles (--desired, preflight), add list on contents of
# fleet.cattle.io, and on configmaps where a valuesFrom names one.
# To adopt, add list on namespaces (kube-system alone is enough: its uid identifies the cluster in
# the receipt), and get and patch on the kinds.
# To confirm differences by server-side dry runs (--server-check=auto), add get and patch on the
# kinds; nothing is stored.
# Bind it with:
#   kubectl create clusterrolebinding ` + roleName + ` --clusterrole=` + roleName + ` --user=NAME
`
)

// usual are the kinds that most bundles deploy.
var usual = map[string][]string{
	"":                          {"configmaps", "limitranges", "namespaces", "persistentvolumeclaims", "resourcequotas", "serviceaccounts", "services"},
	"apps":                      {"daemonsets", "deployments", "statefulsets"},
	"autoscaling":               {"horizontalpodautoscalers"},
	"batch":                     {"cronjobs", "jobs"},
	"networking.k8s.io":         {"ingresses", "networkpolicies"},
	"policy":                    {"poddisruptionbudgets"},
	"rbac.authorization.k8s.io": {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
}

// role is the least role that may read what an audit of this source reads, as YAML. unread is why there is no source.
func role(ctx context.Context, src source.Source, unread error) ([]byte, error) {
	resources := map[string][]string{}
	kinds, why := []source.Kind(nil), unread
	if src != nil {
		kinds, why = engine.DesiredKinds(ctx, src)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	said := roleKinds
	for _, k := range kinds {
		resources[k.Group] = append(resources[k.Group], k.Resource)
	}
	if len(kinds) == 0 {
		reason := "no release record is there"
		if why != nil {
			reason = why.Error()
		}
		said = fmt.Sprintf(roleGuess, reason)
		for group, names := range usual {
			resources[group] = slices.Clone(names)
		}
	}
	body, err := yaml.Marshal(clusterRole(resources))
	if err != nil {
		return nil, err
	}
	return []byte(comment(roleHead) + comment(said) + comment(roleLess) + string(body) + roleTail), nil
}

// comment writes a paragraph as a comment of YAML that fits a terminal of 100 columns. Words longer than that stay whole.
func comment(paragraph string) string {
	const width = 100
	var b strings.Builder
	line := "#"
	for _, word := range strings.Fields(paragraph) {
		if line != "#" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}

func clusterRole(resources map[string][]string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: roleName},
	}
	resources["fleet.cattle.io"] = append(resources["fleet.cattle.io"], "bundledeployments", "bundles", "clustergroups", "clusters", "gitrepos", "helmops")
	resources[""] = append(resources[""], "secrets")
	resources["apps"] = append(resources["apps"], "deployments", "statefulsets")            // of Fleet itself: its versions, the agent's scope
	resources["autoscaling"] = append(resources["autoscaling"], "horizontalpodautoscalers") // a number of replicas may be theirs
	groups := make([]string, 0, len(resources))
	for group := range resources {
		groups = append(groups, group)
	}
	slices.Sort(groups)
	for _, group := range groups {
		names := resources[group]
		slices.Sort(names)
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Compact(names), Verbs: []string{"list"}})
	}
	return role
}
