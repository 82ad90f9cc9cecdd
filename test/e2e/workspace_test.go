// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// TestWorkspaceUser reads Fleet as a user whose rights are limited to one workspace. What the user may read is shown,
// nothing is called ready because of what the user may not read, and nothing outside of the workspace is a gap.
func TestWorkspaceUser(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	ofWorkspace := rule("fleet.cattle.io", "bundlenamespacemappings,bundles,clustergroups,clusters,gitrepos,helmops",
		"list").in(workspace)
	ofCluster := rule("fleet.cattle.io", "bundledeployments", "list").in(clusterNamespace)
	const (
		hidden  = "listing BundleDeployment objects in namespace " + clusterNamespace + ": Forbidden"
		records = "listing release records (Secrets): Forbidden"
		reader  = "workspace-reader"
	)
	for _, tc := range []struct {
		name   string
		grants []grant
		args   string
		status int
		says   []string // parts of both outputs
		gaps   int      // lines below NOT READ that begin a gap
	}{
		{"workspace", []grant{ofWorkspace}, "audit", 3,
			[]string{hidden, "nothing was found, but not everything was read",
				"--print-rbac -n fleet-local"}, 2},
		{"workspace", []grant{ofWorkspace}, "audit --status-only", 3, []string{hidden}, 1},
		{"workspace", []grant{ofWorkspace}, "audit -o tree", 3, []string{hidden}, 2},
		{"workspace", []grant{ofWorkspace}, "why bundle/guestbook", 3, []string{"It is not known whether guestbook " +
			"is ready", hidden}, 2},
		{"workspace", []grant{ofWorkspace}, "impact gitrepo/apps", 3, []string{"It is not known what deleting", hidden},
			2},
		{"with BundleDeployments", []grant{ofWorkspace, ofCluster}, "audit --status-only", 0, nil, 0},
		{"with BundleDeployments", []grant{ofWorkspace, ofCluster}, "audit", 3, []string{records,
			"no bundle deployment has a result"}, 1},
		{"with objects", []grant{ofWorkspace, ofCluster, ofSecrets.in(apps), ofObjects.in(apps)}, "audit", 0,
			[]string{"3 of 3 objects ready"}, 1},
		{"with objects", []grant{ofWorkspace, ofCluster, ofSecrets.in(apps), ofObjects.in(apps)},
			"why bundle/guestbook", 0,
			[]string{"guestbook is ready"}, 1},
	} {
		t.Run(tc.name+" "+tc.args, func(t *testing.T) {
			kubeconfig := f.user(reader, tc.grants...)
			r := run(t.Context(), t, append(strings.Fields(tc.args), "-n", workspace, "--kubeconfig", kubeconfig)...)
			text := strings.Join(strings.Fields(r.stdout+r.stderr), " ")
			if r.status != tc.status {
				t.Errorf("status %d, want %d", r.status, tc.status)
			}
			expectContains(t, "the output", text, tc.says...)
			if n := gapLines(r.stdout); n != tc.gaps {
				t.Errorf("%d gaps, want %d", n, tc.gaps)
			}
			if t.Failed() {
				t.Logf("%s\n%s", r.stdout, r.stderr)
			}
		})
	}
}

// gap begins a gap: a line below NOT READ, or one of the first screen of an audit.
var gap = regexp.MustCompile(`(?m)^(  |Not read: )(listing|reading|searching) `)

// gapLines counts the gaps in an output.
func gapLines(out string) int { return len(gap.FindAllString(out, -1)) }

// TestPrintedWorkspaceRoles checks that the Roles that --print-rbac prints for a workspace are sufficient for what
// Fleet reports.
func TestPrintedWorkspaceRoles(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	roles := run(t.Context(), t, "audit", "-n", workspace, "--kubeconfig", f.kubeconfig, "--print-rbac")
	if roles.status != 0 || strings.Contains(roles.stdout, "- secrets") || strings.Contains(roles.stdout,
		"ClusterRole") {
		t.Fatalf("status %d: %s%s", roles.status, roles.stdout, roles.stderr)
	}
	document := roles.stdout
	for _, ns := range []string{workspace, clusterNamespace} {
		document += `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fleetdoctor-audit, namespace: ` + ns + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: fleetdoctor-audit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
`
		f.removeAtEnd(object("rbac.authorization.k8s.io/v1", "Role", ns, "fleetdoctor-audit"))
		f.removeAtEnd(object("rbac.authorization.k8s.io/v1", "RoleBinding", ns, "fleetdoctor-audit"))
	}
	f.ApplyYAML(t, "admin", document)
	f.awaitGrant("tenant", rule("fleet.cattle.io", "bundledeployments", "list").in(clusterNamespace))
	r := run(t.Context(), t, "audit", "-n", workspace, "--status-only", "--kubeconfig", f.user("tenant"))
	if r.status != 0 || strings.Contains(r.stdout, "NOT READ") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}
