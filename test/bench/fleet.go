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
	workspace           = "fleet-local"
	clusterName         = "local"
	deploymentNamespace = "cluster-fleet-local-local-bench" // of BundleDeployments
	agentNamespace      = "cattle-fleet-local-system"
	gitRepo             = "bench"
	controllerManager   = "fleetcontroller"
	timestamp           = "2026-01-02T03:04:05Z" // in every status
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
	for _, ns := range []string{workspace, deploymentNamespace, agentNamespace, "cattle-fleet-system"} {
		out = append(out, object("v1", "Namespace", "", ns, nil))
	}
	return append(out,
		object("v1", "Secret", agentNamespace, fleet.AgentName,
			fields{"stringData": fields{fleet.AgentSecretNamespaceKey: deploymentNamespace,
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

// releaseObjects returns Fleet's objects of one release, with the status of a ready release. The Bundle has no
// resources: an audit does not read them, and they would only improve the ratio to the floor.
func releaseObjects(r release) []*unstructured.Unstructured {
	id := fmt.Sprintf("s-%x:%x", sha256.Sum256([]byte(r.manifest)), sha256.Sum256([]byte(r.name)))
	options := fields{"defaultNamespace": r.name, "helm": fields{}}
	bundle := fleetObject("Bundle", workspace, r.name, fields{"defaultNamespace": r.name,
		"targets": []any{fields{"clusterSelector": fields{}}}},
		fields{"conditions": ready("Ready"), "summary": summary(1), "display": fields{"readyClusters": "1/1"},
			"observedGeneration": int64(1)})
	bundle.SetLabels(map[string]string{fleet.RepoLabel: gitRepo})
	deployment := fleetObject("BundleDeployment", deploymentNamespace, r.name,
		fields{"deploymentID": id, "stagedDeploymentID": id, "options": options, "stagedOptions": options},
		fields{"appliedDeploymentID": id, "release": r.name + "/" + r.name + ":1", "ready": true, "nonModified": true,
			"conditions":     ready("Installed", "Deployed", "Ready", "Monitored"),
			"display":        fields{"deployed": "True", "monitored": "True", "state": "Ready"},
			"resourceCounts": counts(r.objects)})
	deployment.SetLabels(map[string]string{fleet.RepoLabel: gitRepo, fleet.BundleLabel: r.name,
		fleet.BundleNamespaceLabel: workspace,
		fleet.ClusterLabel:         clusterName, fleet.ClusterNamespaceLabel: workspace})
	return []*unstructured.Unstructured{bundle, deployment}
}

// aggregates returns the objects that aggregate all releases.
func aggregates(releases, objects int) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		fleetObject("Cluster", workspace, clusterName, fields{"clientID": "bench"},
			fields{"namespace": deploymentNamespace, "agent": fields{"namespace": agentNamespace,
				"lastSeen": time.Now().UTC().Format(time.RFC3339)}, "conditions": ready("Ready"),
				"summary": summary(releases), "resourceCounts": counts(objects), "readyGitRepos": int64(1),
				"desiredReadyGitRepos": int64(1),
				"display":              fields{"readyBundles": fmt.Sprintf("%d/%[1]d", releases)}}),
		fleetObject("GitRepo", workspace, gitRepo, fields{"repo": "https://git.example.com/bench.git",
			"branch": "main"},
			fields{"conditions": ready("Ready"), "summary": summary(releases), "resourceCounts": counts(objects),
				"readyClusters":        int64(1),
				"desiredReadyClusters": int64(1), "display": fields{"readyBundleDeployments": fmt.Sprintf("%d/%[1]d",
					releases)}}),
	}
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
