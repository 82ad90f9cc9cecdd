// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// loader creates releases and never deletes any, so that a larger size starts where a smaller one ended.
type loader struct {
	cluster   *cluster.Cluster
	manifests string // directory with one manifest file for each release
	progress  func(format string, args ...any)
	// clientSide installs the releases with client-side apply.
	clientSide bool

	releases, objects int // created so far
}

func (b *bench) newLoader() (*loader, error) {
	l := &loader{cluster: b.cluster, manifests: filepath.Join(b.dir, "manifests"), progress: b.progress,
		clientSide: b.options.clientSide}
	if err := os.Mkdir(l.manifests, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	return l, nil
}

// fill adds objects to a cluster that runs, beside those of an earlier fill.
func (b *bench) fill(ctx context.Context) (err error) {
	if b.cluster, err = cluster.Attach(b.options.kubeconfig, cluster.WithFleetCRDs()); err != nil {
		return err
	}
	l, err := b.newLoader()
	if err != nil {
		return err
	}
	existing := &unstructured.UnstructuredList{}
	existing.SetAPIVersion("fleet.cattle.io/v1alpha1")
	existing.SetKind("BundleDeployment")
	if err := b.cluster.Client().List(ctx, existing, client.InNamespace(first.namespace())); err != nil {
		return fmt.Errorf("listing BundleDeployments: %w", err)
	}
	l.releases, l.objects = len(existing.Items), len(existing.Items)*perRelease
	return l.upTo(ctx, slices.Max(b.options.sizes))
}

// parallelInstalls is the number of releases that are installed at the same time: Helm waits for the server most
// of the time.
const parallelInstalls = 4

// upTo creates releases until there are n objects.
func (l *loader) upTo(ctx context.Context, n int) error {
	start := time.Now()
	if l.objects == 0 {
		for _, o := range installation() {
			if err := apply(ctx, l.cluster.Client(), o); err != nil {
				return err
			}
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelInstalls)
	for l.objects < n {
		r := newRelease(l.releases, min(perRelease, n-l.objects))
		l.releases++
		l.objects += r.objects
		group.Go(func() error { return l.install(groupCtx, r) })
		if l.releases%10 == 0 {
			l.progress("creating %d of %d objects after %s", l.objects, n, time.Since(start).Round(time.Second))
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, o := range aggregates(l.releases, l.objects) {
		if err := apply(ctx, l.cluster.Client(), o); err != nil {
			return err
		}
	}
	l.progress("created %d objects in %d releases in %s", l.objects, l.releases, time.Since(start).Round(time.Second))
	return nil
}

// install deploys a release with Helm as Fleet's agent does, so that the record, the ownership metadata and
// managedFields are real.
func (l *loader) install(ctx context.Context, r release) error {
	setID := fleet.SetID(r.name, "")
	_, err := l.cluster.Install(ctx, cluster.ReleaseOptions{
		BundleID: r.name, Namespace: r.name, SetID: setID, Hash: fleet.Hash(setID), Manifest: r.manifest,
		AgentNamespace: agentNamespace, ClientSideApply: l.clientSide,
	})
	if err != nil {
		return err
	}
	for _, name := range r.deployments {
		if err := l.roll(ctx, r.name, name); err != nil {
			return err
		}
	}
	for _, o := range releaseObjects(r) {
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

// rolledOut is the status that the controller manager would write, which this control plane does not have.
const rolledOut = `{"status": {
	"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
	"conditions": [
		{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
			"message": "Deployment has minimum availability.",
			"lastUpdateTime": "` + timestamp + `", "lastTransitionTime": "` + timestamp + `"},
		{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
			"message": "ReplicaSet has successfully progressed.",
			"lastUpdateTime": "` + timestamp + `", "lastTransitionTime": "` + timestamp + `"}
	]}}`

// roll makes a Deployment ready.
func (l *loader) roll(ctx context.Context, namespace, name string) error {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = namespace, name
	patch := client.RawPatch(types.MergePatchType, []byte(rolledOut))
	if err := l.cluster.Client().Status().Patch(ctx, d, patch,
		client.FieldOwner("kube-controller-manager")); err != nil {
		return fmt.Errorf("writing the status of deployment %s/%s: %w", namespace, name, err)
	}
	return nil
}
