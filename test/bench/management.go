// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	downstream      = "fleet-default" // the workspace of the Clusters of a management cluster
	perGitRepo      = 10              // bundles
	perDeployment   = 250             // resources in the status of a BundleDeployment
	parallelCreates = 8
)

// management is a management cluster on which each of some bundles is deployed to as many clusters. Everything is
// ready.
type management struct{ bundles int }

func (m management) deployments() int { return m.bundles * m.bundles }

// create creates all objects. The objects that aggregate others come last.
func (b *bench) create(ctx context.Context, m management) error {
	start := time.Now()
	for _, objects := range [][]*unstructured.Unstructured{m.installation(), m.bundlesAndContents()} {
		if err := b.createAll(ctx, objects); err != nil {
			return err
		}
	}
	for i := range m.bundles {
		if err := b.createAll(ctx, m.cluster(i)); err != nil {
			return err
		}
		if (i+1)%10 == 0 {
			b.progress("created %d of %d clusters after %s", i+1, m.bundles, time.Since(start).Round(time.Second))
		}
	}
	return b.createAll(ctx, m.gitRepos())
}

func (b *bench) createAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelCreates)
	for _, o := range objects {
		group.Go(func() error {
			status := o.Object["status"]
			if err := b.cluster.Client().Create(ctx, o, client.FieldOwner(controllerManager)); err != nil {
				return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
			}
			if status == nil {
				return nil
			}
			o.Object["status"] = status // the answer has none
			if err := b.cluster.Client().Status().Update(ctx, o, client.FieldOwner(controllerManager)); err != nil {
				return fmt.Errorf("writing the status of %s %s: %w", o.GetKind(), o.GetName(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// installation returns the namespaces and the controller.
func (m management) installation() []*unstructured.Unstructured {
	out := []*unstructured.Unstructured{object("v1", "Namespace", "", downstream, nil)}
	for i := range m.bundles {
		out = append(out, object("v1", "Namespace", "", m.namespace(i), nil))
	}
	return append(out, object("v1", "Namespace", "", "cattle-fleet-system", nil))
}

func (m management) namespace(i int) string {
	return fmt.Sprintf("cluster-%s-%s", downstream, m.clusterName(i))
}

func (m management) clusterName(i int) string { return fmt.Sprintf("cluster-%04d", i) }

func (m management) bundle(i int) string { return fmt.Sprintf("bundle-%04d", i) }

func (m management) gitRepo(bundle int) string { return fmt.Sprintf("repo-%04d", bundle/perGitRepo) }

// content returns the name of the Content of a bundle.
func (m management) content(i int) string {
	return fmt.Sprintf("s-%x", sha256.Sum256([]byte(m.bundle(i))))[:63]
}

// bundlesAndContents returns the bundles, their small contents, and the controller.
func (m management) bundlesAndContents() []*unstructured.Unstructured {
	out := []*unstructured.Unstructured{workload("cattle-fleet-system", fleet.ControllerName)}
	for i := range m.bundles {
		bundle := fleetObject("Bundle", downstream, m.bundle(i),
			fields{"defaultNamespace": m.bundle(i), "targets": []any{fields{"clusterSelector": fields{}}},
				"resources": []any{fields{"name": "manifests.yaml", "content": "# small"}}},
			fields{"conditions": ready("Ready"), "summary": summary(m.bundles), "observedGeneration": int64(1),
				"display": fields{"readyClusters": fmt.Sprintf("%d/%[1]d", m.bundles)}})
		bundle.SetLabels(map[string]string{fleet.RepoLabel: m.gitRepo(i)})
		content := object("fleet.cattle.io/v1alpha1", "Content", "", m.content(i), fields{"content": "e30="})
		out = append(out, bundle, content)
	}
	return out
}

// cluster returns a Cluster and its BundleDeployments.
func (m management) cluster(i int) []*unstructured.Unstructured {
	repos := int64((m.bundles + perGitRepo - 1) / perGitRepo)
	out := []*unstructured.Unstructured{fleetObject("Cluster", downstream, m.clusterName(i),
		fields{"clientID": m.clusterName(i)},
		fields{"namespace": m.namespace(i), "conditions": ready("Ready"), "summary": summary(m.bundles),
			"resourceCounts": counts(m.bundles * perDeployment),
			"agent": fields{"namespace": "cattle-fleet-system", "lastSeen": time.Now().UTC().
				Format(time.RFC3339)},
			"readyGitRepos": repos, "desiredReadyGitRepos": repos,
			"display": fields{"readyBundles": fmt.Sprintf("%d/%[1]d", m.bundles)}})}
	for j := range m.bundles {
		name := m.bundle(j)
		id := fmt.Sprintf("%s:%x", m.content(j), sha256.Sum256([]byte(name)))
		options := fields{"defaultNamespace": name, "helm": fields{}}
		deployment := fleetObject("BundleDeployment", m.namespace(i), name,
			fields{"deploymentID": id, "stagedDeploymentID": id, "options": options, "stagedOptions": options},
			fields{"appliedDeploymentID": id, "release": name + "/" + name + ":1", "ready": true, "nonModified": true,
				"conditions": ready("Installed", "Deployed", "Ready", "Monitored"),
				"display":    fields{"deployed": "True", "monitored": "True", "state": "Ready"},
				"resources":  m.resources(name), "resourceCounts": counts(perDeployment)})
		deployment.SetLabels(map[string]string{fleet.RepoLabel: m.gitRepo(j), fleet.BundleLabel: name,
			fleet.BundleNamespaceLabel: downstream,
			fleet.ClusterLabel:         m.clusterName(i), fleet.ClusterNamespaceLabel: downstream})
		out = append(out, deployment)
	}
	return out
}

// resources returns the list in the status of a BundleDeployment.
func (m management) resources(namespace string) []any {
	var out []any
	for i := range perDeployment {
		k := kinds[i%len(kinds)]
		version := "v1"
		if k.name == "Deployment" {
			version = "apps/v1"
		}
		out = append(out, fields{"apiVersion": version, "kind": k.name, "namespace": namespace,
			"name":      fmt.Sprintf("application-component-%04d", i),
			"createdAt": timestamp})
	}
	return out
}

// gitRepos returns the GitRepos, which aggregate the bundles.
func (m management) gitRepos() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for first := 0; first < m.bundles; first += perGitRepo {
		deployed := min(perGitRepo, m.bundles-first) * m.bundles
		clusters := int64(m.bundles)
		out = append(out, fleetObject("GitRepo", downstream, m.gitRepo(first),
			fields{"repo": "https://git.example.com/fleet.git", "branch": "main",
				"targets": []any{fields{"clusterSelector": fields{}}}},
			fields{"conditions": ready("Ready"), "summary": summary(deployed),
				"resourceCounts": counts(deployed * perDeployment),
				"readyClusters":  clusters, "desiredReadyClusters": clusters,
				"display": fields{"readyBundleDeployments": fmt.Sprintf("%d/%[1]d", deployed)}}))
	}
	return out
}

// measureManagement measures an audit of the status alone.
func (b *bench) measureManagement(ctx context.Context) (result, error) {
	m := management{bundles: b.options.sizes[0]}
	res := result{Objects: m.deployments() * perDeployment, Deployments: m.deployments()}
	if err := b.create(ctx, m); err != nil {
		return res, err
	}
	return b.measure(ctx, res, measured{
		audit: func(ctx context.Context, kubeconfig string) (usage, error) {
			return b.auditStatus(ctx, kubeconfig, m.deployments())
		},
	})
}

// auditStatus runs the product once on a management cluster, and checks that it found each deployment and nothing
// wrong.
func (b *bench) auditStatus(ctx context.Context, kubeconfig string, deployments int) (usage, error) {
	u, out, err := execute(ctx, b.product, "audit", "--status-only", "-o", "json", "--kubeconfig", kubeconfig)
	if err != nil {
		return u, err
	}
	var got struct {
		Summary  report.Summary   `json:"summary"`
		Gaps     []report.Gap     `json:"gaps"`
		Findings []report.Finding `json:"findings"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return u, fmt.Errorf("reading the report: %w", err)
	}
	if got.Summary.BundleDeployments != deployments || len(got.Gaps)+len(got.Findings) > 0 {
		return u, fmt.Errorf("auditing: %d bundle deployments, findings %+v, gaps %+v; want %d and none",
			got.Summary.BundleDeployments, got.Findings, got.Gaps,
			deployments)
	}
	if u.Peak == 0 {
		return u, errors.New("measuring the audit: /proc has no VmHWM on this system")
	}
	return u, nil
}
