// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// loader fills a cluster, release by release, and never takes anything back, so that a larger size begins where a smaller one ended.
type loader struct {
	cluster   *cluster.Cluster
	manifests string // the folder that the manifests are written to, a file a release
	progress  func(format string, args ...any)

	releases, objects int // loaded so far
}

// atOnce is how many releases are installed at once: Helm waits for the server most of the time.
const atOnce = 4

// upTo loads objects until there are n.
func (l *loader) upTo(ctx context.Context, n int) error {
	start := time.Now()
	if l.objects == 0 {
		for _, o := range foundation() {
			if err := apply(ctx, l.cluster.Client(), o); err != nil {
				return err
			}
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for l.objects < n {
		r := newRelease(l.releases, min(perRelease, n-l.objects))
		l.releases++
		l.objects += r.objects
		group.Go(func() error { return l.install(groupCtx, r) })
		if l.releases%10 == 0 {
			l.progress("loading: %d of %d objects begun after %s", l.objects, n, time.Since(start).Round(time.Second))
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, o := range summedUp(l.releases, l.objects) {
		if err := apply(ctx, l.cluster.Client(), o); err != nil {
			return err
		}
	}
	l.progress("loaded %d objects in %d releases in %s", l.objects, l.releases, time.Since(start).Round(time.Second))
	return nil
}

// install deploys a release as Fleet's agent would, through Helm itself, so that record, marks and managedFields are the real ones.
func (l *loader) install(ctx context.Context, r release) error {
	setID := fleet.SetID(r.name, "")
	_, err := l.cluster.Install(ctx, cluster.ReleaseOptions{
		BundleID: r.name, Namespace: r.name, SetID: setID, Hash: fleet.Hash(setID), Manifest: r.manifest, AgentNamespace: agentNamespace,
	})
	if err != nil {
		return err
	}
	for _, name := range r.deployments {
		if err := l.roll(ctx, r.name, name); err != nil {
			return err
		}
	}
	for _, o := range ofRelease(r) {
		if err := apply(ctx, l.cluster.Client(), o); err != nil {
			return err
		}
	}
	file := filepath.Join(l.manifests, r.name+".yaml")
	if err := os.WriteFile(file, []byte(r.manifest), 0o600); err != nil {
		return fmt.Errorf("writing the manifest of %s: %w", r.name, err)
	}
	return nil
}

// rolledOut is the status that the controller manager, which this cluster has not, would write.
const rolledOut = `{"status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2, "conditions": [` +
	`{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability.", ` +
	`"lastUpdateTime": "` + when + `", "lastTransitionTime": "` + when + `"}, ` +
	`{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "ReplicaSet has successfully progressed.", ` +
	`"lastUpdateTime": "` + when + `", "lastTransitionTime": "` + when + `"}]}}`

// roll makes a Deployment ready.
func (l *loader) roll(ctx context.Context, namespace, name string) error {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = namespace, name
	patch := client.RawPatch(types.MergePatchType, []byte(rolledOut))
	if err := l.cluster.Client().Status().Patch(ctx, d, patch, client.FieldOwner("kube-controller-manager")); err != nil {
		return fmt.Errorf("writing the status of deployment %s/%s: %w", namespace, name, err)
	}
	return nil
}
