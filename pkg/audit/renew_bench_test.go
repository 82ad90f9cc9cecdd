// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// BenchmarkRenew changes one release of ten objects beside 50,000 objects in 500 releases, as a deploy does: a new
// revision, another value, the status of the BundleDeployment. It compares what an auditor needs to show the result
// with an evaluation of everything. The metric is processor time.
func BenchmarkRenew(b *testing.B) {
	const releases, perRelease, name, size = 500, 100, "changed", 10
	m := newRedeployed(b, releases+1, releases*perRelease+size)
	for i := range releases {
		m.deploy(b, fmt.Sprintf("bundle-%03d", i), perRelease, 1)
	}
	m.deploy(b, name, size, 1)
	o := audit.Options{Memory: audit.NewMemory(), Pause: func(context.Context) error { return nil }}
	standing, err := audit.Start(b.Context(), m, o)
	if err != nil {
		b.Fatal(err)
	}
	revision := 1
	for _, kind := range []string{"everything", "release"} {
		b.Run(kind, func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				revision++
				m.deploy(b, name, size, revision)
				before := processorTime(b)
				if kind == "everything" {
					standing, err = audit.Start(b.Context(), m, o)
				} else {
					standing, err = standing.Renew(b.Context())
				}
				if err != nil || standing == nil {
					b.Fatal("no evaluation: ", err)
				}
				found, err := standing.Audit(b.Context(), time.Now(), nil)
				if err != nil {
					b.Fatal(err)
				}
				used += processorTime(b) - before
				r := found.Unmerged()
				c := r.Summary.Counts
				if c.Ready != releases*perRelease+size || c.Desired != c.Ready || len(r.Findings) > 0 {
					b.Fatalf("%d of %d objects are ready, findings %v", c.Ready, c.Desired, r.Findings)
				}
			}
			b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is the processor time of this process.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stored is an object of a cluster whose objects change.
type stored struct {
	raw                 []byte
	version, secretType string
	labels              labels.Set
}

// redeployed is a cluster in memory with a Fleet of its own, whose objects change.
type redeployed struct {
	kinds   *source.Kinds
	objects map[schema.GroupVersionKind]map[object.Key]stored
	version int
}

const localWorkspace, localNamespace = "fleet-local", "cluster-fleet-local-local"

// newRedeployed returns a cluster of which Fleet reports that all is ready.
func newRedeployed(tb testing.TB, deployments, objects int) *redeployed {
	tb.Helper()
	m := &redeployed{kinds: &source.Kinds{}, objects: map[schema.GroupVersionKind]map[object.Key]stored{}}
	m.cluster(tb, agentNamespace, deployments, objects)
	m.set(tb, fields{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": fields{"name": fleet.AgentName,
		"namespace": agentNamespace}, "data": fields{fleet.AgentSecretNamespaceKey: []byte(localNamespace)}})
	return m
}

// cluster writes the Cluster, with the totals that it reports and the namespace of its agent.
func (m *redeployed) cluster(tb testing.TB, agent string, deployments, objects int) {
	tb.Helper()
	m.set(tb, m.fleet("Cluster", localWorkspace, "local", nil, fields{"namespace": localNamespace,
		"agent":          fields{"namespace": agent, "lastSeen": time.Now().UTC().Format(time.RFC3339)},
		"summary":        fields{"desiredReady": deployments, "ready": deployments},
		"resourceCounts": fields{"desiredReady": objects, "ready": objects}}))
}

// fleet returns one of Fleet's objects.
func (*redeployed) fleet(kind, namespace, name string, labels, status fields) fields {
	return fields{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": kind,
		"metadata": fields{"name": name, "namespace": namespace, "labels": labels}, "status": status,
		"spec": fields{"deploymentID": "s-" + name + ":1", "stagedDeploymentID": "s-" + name + ":1"}}
}

// deploy deploys a revision of a bundle.
func (m *redeployed) deploy(tb testing.TB, name string, objects, revision int) {
	tb.Helper()
	var manifest strings.Builder
	for i := range objects {
		desired := desiredObject(name, i)
		if data, ok := desired["data"].(fields); ok && desired["kind"] == "ConfigMap" {
			data["level"], data["text"] = fmt.Sprint("level ", revision), invented(name, i)
		}
		document, err := sigsyaml.Marshal(desired)
		if err != nil {
			tb.Fatal(err)
		}
		manifest.WriteString("---\n" + string(document))
		m.set(tb, liveObject(desired, name))
	}
	m.set(tb, revisionSecret(tb, name, manifest.String(), revision))
	gone := object.Key{Kind: "Secret", Namespace: name, // Fleet keeps two revisions
		Name: release.Name{Namespace: name, Name: name, Revision: revision - 2}.SecretName()}
	delete(m.objects[schema.GroupVersionKind{Version: "v1", Kind: "Secret"}], gone)
	id := "s-" + name + ":1"
	m.set(tb, m.fleet("Bundle", localWorkspace, name, nil, fields{"summary": fields{"desiredReady": 1, "ready": 1}}))
	m.set(tb, m.fleet("BundleDeployment", localNamespace, name, fields{fleet.BundleLabel: name,
		fleet.BundleNamespaceLabel: localWorkspace, fleet.ClusterLabel: "local",
		fleet.ClusterNamespaceLabel: localWorkspace},
		fields{"appliedDeploymentID": id, "release": fmt.Sprintf("%s/%s:%d", name, name, revision), "ready": true,
			"nonModified": true, "display": fields{"state": "Ready"},
			"resourceCounts": fields{"desiredReady": objects, "ready": objects}}))
	m.set(tb, m.fleet("Content", "", "s-"+name, nil, nil))
}

// invented returns a text that compresses as badly as that of real manifests.
func invented(bundle string, i int) string {
	var out strings.Builder
	for n := range 20 {
		fmt.Fprintf(&out, "%x ", sha256.Sum256(fmt.Appendf(nil, "%s %d %d", bundle, i, n)))
	}
	return out.String()
}

// set creates or replaces an object.
func (m *redeployed) set(tb testing.TB, o fields) {
	tb.Helper()
	m.version++
	version := fmt.Sprint(m.version)
	metadata, _ := o["metadata"].(fields)
	metadata = maps.Clone(metadata)
	metadata["resourceVersion"] = version
	o["metadata"] = metadata
	raw, err := json.Marshal(o)
	if err != nil {
		tb.Fatal(err)
	}
	read, err := object.ReadMeta(raw)
	if err != nil {
		tb.Fatal(err)
	}
	gvk := read.Ref().GroupVersionKind()
	if m.objects[gvk] == nil {
		m.objects[gvk] = map[object.Key]stored{}
		m.kinds.Add(source.Kind{GroupVersionKind: gvk, Resource: strings.ToLower(gvk.Kind) + "s",
			Namespaced: read.Metadata.Namespace != ""})
	}
	secretType, _ := o["type"].(string)
	m.objects[gvk][read.Ref().Key()] = stored{raw, version, secretType, read.Metadata.Labels}
}

// Describe implements source.Source.
func (*redeployed) Describe(context.Context) (source.Description, error) {
	return source.Description{Origin: source.OriginCluster, TakenAt: time.Now()}, nil
}

// Kinds implements source.Source.
func (m *redeployed) Kinds(context.Context) (*source.Kinds, error) { return m.kinds, nil }

// List implements source.Source.
func (m *redeployed) List(_ context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if _, f, ok := m.kinds.Lookup(q.Kind); !ok {
		return source.NotCovered(f), nil
	}
	byLabel, err := labels.Parse(q.LabelSelector)
	if err != nil {
		return source.Coverage{}, err
	}
	byField, err := apifields.ParseSelector(q.FieldSelector)
	if err != nil {
		return source.Coverage{}, err
	}
	notRecords := q.FieldSelector == "type!="+release.SecretType
	name, named := byField.RequiresExactMatch("metadata.name")
	return source.CoverageOf(q, true, func(namespace string) (*source.Failure, error) {
		objects := m.objects[q.Kind]
		if len(q.Only) > 0 {
			objects = map[object.Key]stored{}
			for _, n := range q.Only {
				key := object.Key{Group: q.Kind.Group, Kind: q.Kind.Kind, Namespace: n.Namespace, Name: n.Name}
				if o, exists := m.objects[q.Kind][key]; exists {
					objects[key] = o
				}
			}
		}
		for key, o := range objects {
			elsewhere := namespace != "" && key.Namespace != namespace || named && key.Name != name
			if elsewhere || !byLabel.Empty() && !byLabel.Matches(o.labels) {
				continue
			}
			if wanted, ok := byField.RequiresExactMatch("type"); ok && wanted != o.secretType {
				continue
			}
			if notRecords && o.secretType == release.SecretType {
				continue
			}
			live := source.Object{Item: object.Item{Raw: o.raw}, Kind: q.Kind}
			if q.Remembered != nil && q.Remembered(key.Namespace, key.Name, o.version) {
				live = source.Object{Item: object.Item{Meta: &object.Meta{}}, Kind: q.Kind, Remembered: true}
				live.Meta.Metadata.Namespace, live.Meta.Metadata.Name = key.Namespace, key.Name
				live.Meta.Metadata.ResourceVersion = o.version
			}
			if err := yield(live); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}
