// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// The minimal permissions for an audit of the guestbook.
var (
	ofFleet   = rule("fleet.cattle.io", "bundledeployments,bundles,clustergroups,clusters,gitrepos,helmops", "list")
	ofSecrets = rule("", "secrets", "list")
	ofObjects = rule("", "configmaps,services", "list")
)

// TestPartialPermissions audits as users who may not read everything. What they may not read is Unknown: never
// ready, never missing.
func TestPartialPermissions(t *testing.T) {
	const (
		searching = unsearched + ": not readable"
		ofRecords = "listing release records (Secrets)"
		leftOver  = "listing the namespaces of clusters: Forbidden"
		about     = "bundledeployment.fleet.cattle.io " + clusterNamespace
	)
	for name, test := range map[string]struct {
		grants []grant
		want   outcome
	}{
		"without Secrets": {
			grants: []grant{ofFleet, ofObjects},
			want: outcome{
				Status:      3,
				Deployments: map[string]string{"guestbook": "Unknown Forbidden", "elsewhere": "Unknown Forbidden"},
				Findings:    []string{"FD607 cluster.fleet.cattle.io fleet-local/local"},
				Gaps:        []string{ofRecords + ": Forbidden", leftOver, searching},
			},
		},
		"in one namespace": {
			grants: []grant{ofFleet, ofSecrets.in(apps), ofObjects.in(apps)},
			want: outcome{
				Status:      1,
				Deployments: map[string]string{"guestbook": "Ready", "elsewhere": "Unknown Forbidden"},
				Findings:    []string{"FD607 " + about + "/elsewhere"},
				Gaps: []string{ofRecords + ": Forbidden", leftOver, "reading ConfigMap objects: Forbidden",
					"reading Service objects: Forbidden", searching},
			},
		},
		"records everywhere and objects in one namespace": {
			grants: []grant{ofFleet, ofSecrets, ofObjects.in(apps)},
			want: outcome{
				Status:      1,
				Deployments: map[string]string{"guestbook": "Ready", "elsewhere": "Unknown"},
				Objects:     map[string]string{"configmap elsewhere/theme": "Unknown Forbidden"},
				Findings:    []string{"FD607 " + about + "/elsewhere"},
				Gaps: []string{leftOver, "reading ConfigMap objects: Forbidden",
					"reading ConfigMap objects in namespace elsewhere: Forbidden",
					"reading Service objects: Forbidden", searching},
			},
		},
		"without Services": {
			grants: []grant{ofFleet, ofSecrets, rule("", "configmaps", "list")},
			want: outcome{
				Status:      3,
				Deployments: map[string]string{"guestbook": "Unknown", "elsewhere": "Ready"},
				Objects:     map[string]string{"service apps/frontend": "Unknown Forbidden"},
				Gaps: []string{leftOver, "reading Service objects: Forbidden",
					"reading Service objects in namespace apps: Forbidden", searching},
			},
		},
		"without Fleet's objects": { // the rest is what a downstream cluster has
			grants: []grant{ofSecrets, ofObjects},
			want: outcome{
				Status:      3,
				Deployments: map[string]string{"guestbook": "Ready", "elsewhere": "Ready"},
				Gaps: []string{"listing Bundle objects: Forbidden", "listing BundleDeployment objects: Forbidden",
					"listing Cluster objects: Forbidden",
					"listing ClusterGroup objects: Forbidden", "listing GitRepo objects: Forbidden",
					"listing HelmOp objects: Forbidden", searching},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			f.deploy("guestbook", guestbook)
			elsewhere := f.bundle("elsewhere", theme)
			elsewhere.options.Namespace = "elsewhere"
			elsewhere.deploy()
			reader := f.user(strings.ReplaceAll(name, " ", "-"), test.grants...)
			expect(t, f.audit("--kubeconfig", reader), test.want)
			file := filepath.Join(t.TempDir(), "snapshot.tar.gz")
			if r := run(t.Context(), t, "snapshot", "--kubeconfig", reader, "-o", file); r.status != 0 {
				t.Fatalf("taking a snapshot: status %d: %s", r.status, r.stderr)
			}
			expect(t, captured(t, file), test.want) // what may not be read is Unknown there too

			complete := f.audit("--kubeconfig", reader, "--require-complete")
			if complete.status != 3 {
				t.Errorf("--require-complete: status %d, want 3", complete.status)
			}
			incomplete := "the audit is not complete"
			if len(test.want.Findings) > 0 && test.want.Status == 3 {
				incomplete = "no bundle deployment has a result"
			}
			expectContains(t, "stderr", complete.stderr, incomplete)
		})
	}
}

// TestNoPermissions audits as a user who may read nothing.
func TestNoPermissions(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	r := f.audit("--kubeconfig", f.user("nobody"))
	expect(t, r, outcome{Status: 3})
	expectContains(t, "stderr", r.stderr, "no object of Fleet could be read", `forbidden: User "nobody"`,
		"--print-rbac")
}

// TestPrintedRole checks that the role that --print-rbac prints is sufficient.
func TestPrintedRole(t *testing.T) {
	f := newFleet(t, shared)
	f.define(widgets, "widgets.example.com")
	f.deploy("guestbook", guestbook+"\n---\n"+widget)
	role := run(t.Context(), t, "audit", "--kubeconfig", f.kubeconfig, "--print-rbac")
	if role.status != 0 {
		t.Fatalf("status %d: %s", role.status, role.stderr)
	}
	f.ApplyYAML(t, "admin", role.stdout+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fleetdoctor-audit}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fleetdoctor-audit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: auditor}]
`)
	f.removeAtEnd(object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "fleetdoctor-audit"))
	f.removeAtEnd(object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "fleetdoctor-audit"))
	f.awaitGrant("auditor", ofFleet)
	expect(t, f.audit("--kubeconfig", f.user("auditor")), outcome{
		Deployments: map[string]string{"guestbook": "Ready"},
		Gaps:        []string{unsearched + ": not readable"},
	})
	expectContains(t, "the role", role.stdout, "--require-complete")
	complete := f.audit("--kubeconfig", f.user("auditor"), "--require-complete")
	if complete.status != 3 {
		t.Errorf("--require-complete with the printed role: status %d, want 3: %s", complete.status, complete.stderr)
	}
}
