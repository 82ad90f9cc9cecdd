// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// rolledOut is the number of deployments of a rollout. With the race detector, Helm is too slow for so many.
	rolledOut      = 80
	rolledOutRaced = 40
	// page is the number of objects in one page of a list.
	page = 500
	// agentWorkers is the number of deployments that the agent upgrades at the same time.
	agentWorkers = 4
	// leastAudits is the least number of audits during a rollout.
	leastAudits = 5
)

// rollout are the deployments that are upgraded.
type rollout struct {
	*fleetServer
	bundles  []*bundle
	revision int
}

// manifest has an object that every revision changes, and one that only this revision has.
func (r *rollout) manifest(name string, revision int) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {revision: \"%[2]d\"}}\n---\n"+
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s-%[2]d}}\n", name, revision)
}

// next deploys the next revision of all bundles: the controller changes the deployment ids, then the agent deploys with
// Helm and reports.
func (r *rollout) next(ctx context.Context) error {
	r.revision++
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(agentWorkers)
	for _, b := range r.bundles {
		group.Go(func() error {
			if err := r.write(ctx, b, r.revision, r.revision-1); err != nil {
				return err
			}
			options := b.options
			options.Manifest = r.manifest(b.name, r.revision)
			deploy := r.Upgrade
			if r.revision == 1 {
				deploy = r.Install
			}
			if _, err := deploy(ctx, options); err != nil {
				return err
			}
			return r.write(ctx, b, r.revision, r.revision)
		})
	}
	return group.Wait()
}

// write writes a BundleDeployment of which one revision is requested and another one is applied; 0 is none.
func (r *rollout) write(ctx context.Context, b *bundle, requested, applied int) error {
	o := object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, b.name)
	o.SetLabels(map[string]string{"fleet.cattle.io/bundle-name": b.name, "fleet.cattle.io/bundle-namespace": workspace})
	id := func(revision int) string { return fmt.Sprintf("s-%d:1", revision) }
	o.Object["spec"] = map[string]any{"deploymentID": id(requested), "stagedDeploymentID": id(requested)}
	status := map[string]any{}
	if applied > 0 {
		status = map[string]any{"appliedDeploymentID": id(applied), "release": fmt.Sprintf("%s/%s:%d", apps, b.name,
			applied), "ready": true, "nonModified": true}
	}
	if err := r.apply(ctx, o); err != nil {
		return err
	}
	o.Object["status"] = status
	err := r.Client().Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(controller),
		client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing the status of %s: %w", b.name, err)
	}
	return nil
}

func (r *rollout) apply(ctx context.Context, o *unstructured.Unstructured) error {
	err := r.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner(controller),
		client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.GetName(), err)
	}
	return nil
}

// fillPage deploys as many ConfigMaps as a page of a list has, and as many release records of other releases. By their
// names, they are between those of the rollout, so that these are on two pages.
func (r *rollout) fillPage() {
	var manifest, records strings.Builder
	for i := range page {
		fmt.Fprintf(&manifest, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m-%03d}}\n---\n", i)
	}
	b := r.deploy("m", manifest.String())
	data, _, err := unstructured.NestedString(r.get(b.record(1)).Object, "data", "release")
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range page {
		fmt.Fprintf(&records, "{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: "+
			"sh.helm.release.v1.m-%03[1]d.v1, namespace: %[2]s, labels: {owner: helm, name: m-%03[1]d, "+
			"status: deployed, version: \"1\"}}, data: {release: %[3]s}}\n---\n", i, apps, data)
	}
	r.ApplyYAML(r.t, "helm", records.String())
}

// TestRollout audits a cluster while an agent upgrades all deployments. Each upgrade creates, changes and removes an
// object. None of them may be reported, but an object of another deployment that was really deleted must be.
func TestRollout(t *testing.T) {
	f := newFleet(t, shared)
	n := rolledOut
	if raced {
		n = rolledOutRaced
	}
	r := &rollout{fleetServer: f}
	r.fillPage()
	for i := range n / 2 {
		r.bundles = append(r.bundles, f.bundle(fmt.Sprintf("a-%02d", i), ""), f.bundle(fmt.Sprintf("z-%02d", i), ""))
	}
	if err := r.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.deploy("steady", "{apiVersion: v1, kind: ConfigMap, metadata: {name: deleted}}\n---\n{apiVersion: v1, kind: "+
		"ConfigMap, metadata: {name: left}}\n")
	f.remove(configMap("deleted"))

	audits := 0
	for audits < leastAudits {
		upgraded := make(chan error, 1)
		go func() { upgraded <- r.next(t.Context()) }()
		for upgrading := true; upgrading; {
			select {
			case err := <-upgraded:
				if upgrading = false; err != nil {
					t.Fatal(err)
				}
			default:
				audits++
				expectOnlyDeleted(t, f.audit())
			}
		}
	}
	t.Logf("%d audits, %d revisions of %d deployments", audits, r.revision, n)
	expectOnlyDeleted(t, f.audit())
	f.remove(configMap(r.bundles[0].name))
	if got := f.audit().deployment(t, r.bundles[0].name).Counts; got.Missing != 1 || got.Ready != 1 {
		t.Errorf("after the rollout, with one object deleted: %+v", got)
	}
}

// expectOnlyDeleted checks that an audit reports the deleted object as missing, and nothing else as missing, modified
// or orphaned.
func expectOnlyDeleted(t *testing.T, r result) {
	t.Helper()
	if r.report == nil {
		t.Fatalf("no report, status %d: %s", r.status, r.stderr)
	}
	missing := 0
	for _, d := range r.report.BundleDeployments {
		for _, o := range d.Resources {
			switch {
			case d.Name == "steady" && o.Name == "deleted" && o.State == report.Missing:
				missing++
			case o.State == report.Missing || o.State == report.Modified:
				t.Errorf("%s: %s is %s", d.Name, o.Name, o.State)
			}
		}
	}
	if missing != 1 {
		t.Errorf("the deleted object was reported %d times", missing)
	}
	for _, found := range r.report.Findings {
		if strings.HasPrefix(found.Code, "FD10") && found.Object.Name != "deleted" {
			t.Errorf("%s %s: %s", found.Code, found.Object.Name, found.Message)
		}
	}
}

// TestPendingUpgrade audits a cluster while the record of a new revision is pending. Of two objects that do not exist,
// the new revision has one.
func TestPendingUpgrade(t *testing.T) {
	f := newFleet(t, shared)
	const kept = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}\n---\n"
	b := f.deploy("app", kept+"{apiVersion: v1, kind: ConfigMap, metadata: {name: dropped}}\n")
	var during result
	b.options.Recorded = func() {
		f.remove(configMap("kept"))
		f.remove(configMap("dropped"))
		during = f.audit()
	}
	b.upgrade(kept + "{apiVersion: v1, kind: ConfigMap, metadata: {name: created}}\n")
	if got := during.resource(t, "app", "configmap apps/kept"); got.State != report.Missing {
		t.Errorf("an object that both revisions have: %+v", got)
	}
	if got := during.resource(t, "app", "configmap apps/dropped"); got.State != report.Unknown ||
		got.Reason != evaluate.ReleaseChanged {
		t.Errorf("an object that the new revision does not have: %+v", got)
	}
	if got := f.audit().deployment(t, "app").Counts; got.Desired != 2 || got.Ready != 2 {
		t.Errorf("after the upgrade: %+v", got)
	}
}
