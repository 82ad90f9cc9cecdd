// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// Names of Fleet's objects on a cluster that manages itself.
const (
	workspace         = "fleet-local"
	clusterName       = "local"
	agentNamespace    = "cattle-fleet-local-system"
	gitRepo           = "bench"
	controllerManager = "fleetcontroller"
	timestamp         = "2026-01-02T03:04:05Z" // in every status
)

// fields are the fields of an object in the JSON form of the API.
type fields = map[string]any

func object(apiVersion, kind, namespace, name string, rest fields) *unstructured.Unstructured {
	meta := fields{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	o := fields{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	for k, v := range rest {
		o[k] = v
	}
	return &unstructured.Unstructured{Object: o}
}

func fleetObject(kind, namespace, name string, spec, status fields) *unstructured.Unstructured {
	return object("fleet.cattle.io/v1alpha1", kind, namespace, name, fields{"spec": spec, "status": status})
}

// installation returns the objects of Fleet itself.
func installation() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, ns := range []string{workspace, first.namespace(), agentNamespace, "cattle-fleet-system"} {
		out = append(out, object("v1", "Namespace", "", ns, nil))
	}
	return append(out,
		object("v1", "Secret", agentNamespace, fleet.AgentName,
			fields{"stringData": fields{fleet.AgentSecretNamespaceKey: first.namespace(),
				"clusterNamespace": workspace, "clusterName": clusterName}}),
		workload(agentNamespace, fleet.AgentName), workload("cattle-fleet-system", fleet.ControllerName))
}

func workload(namespace, name string) *unstructured.Unstructured {
	labels := fields{"app": name}
	return object("apps/v1", "Deployment", namespace, name,
		fields{"spec": fields{"selector": fields{"matchLabels": labels},
			"template": fields{"metadata": fields{"labels": labels}, "spec": fields{"containers": []any{
				fields{"name": name, "image": "registry.example.com/rancher/" + name + ":v0.15.0"}}}}}})
}

// releaseObjects returns Fleet's objects of one release on one cluster.
func releaseObjects(r release) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{bundle(r, 1), bundleDeployment(r, first)}
}

// bundle returns the Bundle of a release that is ready on some clusters. It has no resources: an audit does not read
// them, and they would only improve the ratio to the floor.
func bundle(r release, clusters int) *unstructured.Unstructured {
	out := fleetObject("Bundle", workspace, r.name, fields{"defaultNamespace": r.name,
		"targets": []any{fields{"clusterSelector": fields{}}}},
		fields{"conditions": ready("Ready"), "summary": summary(clusters),
			"display":            fields{"readyClusters": fmt.Sprintf("%d/%[1]d", clusters)},
			"observedGeneration": int64(1)})
	out.SetLabels(map[string]string{fleet.RepoLabel: gitRepo})
	return out
}

// bundleDeployment returns the BundleDeployment of a release on a cluster, with the status of a ready release.
func bundleDeployment(r release, m member) *unstructured.Unstructured {
	id := fmt.Sprintf("s-%x:%x", sha256.Sum256([]byte(r.manifest)), sha256.Sum256([]byte(r.name)))
	options := fields{"defaultNamespace": r.name, "helm": fields{}}
	out := fleetObject("BundleDeployment", m.namespace(), r.name,
		fields{"deploymentID": id, "stagedDeploymentID": id, "options": options, "stagedOptions": options},
		fields{"appliedDeploymentID": id, "release": r.name + "/" + r.name + ":1", "ready": true, "nonModified": true,
			"conditions":     ready("Installed", "Deployed", "Ready", "Monitored"),
			"display":        fields{"deployed": "True", "monitored": "True", "state": "Ready"},
			"resourceCounts": counts(r.objects)})
	out.SetLabels(map[string]string{fleet.RepoLabel: gitRepo, fleet.BundleLabel: r.name,
		fleet.BundleNamespaceLabel: workspace, fleet.ClusterLabel: m.name(), fleet.ClusterNamespaceLabel: workspace})
	return out
}

// aggregates returns the objects that aggregate all releases of one cluster.
func aggregates(releases, objects int) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{clusterObject(first, releases, objects), gitRepoObject(1, releases, objects)}
}

// clusterObject returns a Cluster with its releases and objects.
func clusterObject(m member, releases, objects int) *unstructured.Unstructured {
	return fleetObject("Cluster", workspace, m.name(), fields{"clientID": "bench"},
		fields{"namespace": m.namespace(), "agent": fields{"namespace": agentNamespace,
			"lastSeen": time.Now().UTC().Format(time.RFC3339)}, "conditions": ready("Ready"),
			"summary": summary(releases), "resourceCounts": counts(objects), "readyGitRepos": int64(1),
			"desiredReadyGitRepos": int64(1),
			"display":              fields{"readyBundles": fmt.Sprintf("%d/%[1]d", releases)}})
}

// gitRepoObject returns the GitRepo with the releases and objects of each of some clusters.
func gitRepoObject(clusters, releases, objects int) *unstructured.Unstructured {
	return fleetObject("GitRepo", workspace, gitRepo, fields{"repo": "https://git.example.com/bench.git",
		"branch": "main"},
		fields{"conditions": ready("Ready"), "summary": summary(clusters * releases),
			"observedGeneration": int64(1),
			"resourceCounts":     counts(clusters * objects), "readyClusters": int64(clusters),
			"desiredReadyClusters": int64(clusters),
			"display":              fields{"readyBundleDeployments": fmt.Sprintf("%d/%[1]d", clusters*releases)}})
}

func ready(types ...string) []any {
	var out []any
	for _, t := range types {
		out = append(out, fields{"type": t, "status": "True", "lastUpdateTime": timestamp})
	}
	return out
}

func summary(n int) fields { return fields{"ready": int64(n), "desiredReady": int64(n)} }

func counts(n int) fields {
	out := fields{"ready": int64(n), "desiredReady": int64(n)}
	for _, state := range []string{"waitApplied", "modified", "orphaned", "missing", "unknown", "notReady"} {
		out[state] = int64(0)
	}
	return out
}

// apply writes an object with server-side apply, and its status through the subresource.
func apply(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	owner := client.FieldOwner(controllerManager)
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), owner,
		client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if o.Object["status"] == nil {
		return nil
	}
	err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), owner, client.ForceOwnership)
	if err != nil && !apierrors.IsNotFound(err) { // without the subresource, the first request wrote the status
		return fmt.Errorf("applying the status of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
