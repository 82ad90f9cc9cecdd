// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ClusterOptions select the data that is read from a cluster.
type ClusterOptions struct {
	// Name is the name that the user gives the cluster.
	Name string
	// NoRecords omits the Secrets of agents and the release records.
	NoRecords bool
	// AgentSecrets reads the Secrets of agents although the records are omitted.
	AgentSecrets bool
	// OtherReleases reads the names of the releases in ConfigMaps too. None of them is Fleet's. Only an adoption plan
	// needs to know whether the release that owns an object exists.
	OtherReleases bool
}

// Cluster reads the agents and the release records of the cluster, for Fleet's objects in f.
func (r *Reader) Cluster(ctx context.Context, f *state.Fleet, o ClusterOptions) (*state.Cluster, []source.Gap, error) {
	c := clusterReader{reader: r, out: &state.Cluster{Name: o.Name, Kinds: r.Kinds, Captured: r.Description.Partial()}}
	g, reading := errgroup.WithContext(ctx)
	c.agents(reading, g)
	c.records(reading, g, f, o)
	if err := g.Wait(); err != nil {
		return c.out, c.gaps, err
	}
	c.out.KeepOwnAgents(f)
	if err := c.agentPods(ctx); err != nil {
		return c.out, c.gaps, err
	}
	err := c.trustLabels(ctx, f)
	c.out.LimitObjects(f, func(namespace string) bool { return directory.TrustsRecords(c.out, namespace) })
	return c.out, c.gaps, err
}

// trustLabels reads which release records an administrator trusts. A management cluster does not need that: its
// BundleDeployments name the releases.
func (c *clusterReader) trustLabels(ctx context.Context, f *state.Fleet) (err error) {
	if !c.out.RecordsAlone(f) {
		return nil
	}
	q := source.Query{Kind: namespaceKind, FieldSelector: "metadata.name=" + directory.TrustNamespace}
	c.out.Coverage.TrustLabels, err = c.reader.listMetadata(ctx, q, func(m *object.Meta) {
		c.out.TrustLabels = m.Metadata.Labels
	})
	return err
}

// clusterReader fills a state.Cluster.
type clusterReader struct {
	reader *Reader
	mu     sync.Mutex // guards out and gaps
	out    *state.Cluster
	gaps   []source.Gap
}

// agents reads the workloads of agents.
func (c *clusterReader) agents(ctx context.Context, g *errgroup.Group) {
	for _, gvk := range []schema.GroupVersionKind{deploymentKind, statefulSetKind} {
		g.Go(func() error {
			return c.reader.workload(ctx, gvk, fleet.AgentName, func(o source.Object) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.out.AddAgent(gvk.Kind, o.Raw) != nil {
					c.gap("reading workload "+fleet.AgentName, source.ReadFailed, "its version and scope are not known")
				}
				return nil
			})
		})
	}
}

// agentPods reads the pods of the agents that do not run. A capture may leave them out.
func (c *clusterReader) agentPods(ctx context.Context) error {
	for _, namespace := range slices.Sorted(maps.Keys(c.out.Workloads)) {
		if w := c.out.Workloads[namespace]; !w.ReadsPods() {
			continue
		}
		q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespaces: []string{namespace},
			LabelSelector: fleet.AgentPods}
		var pods [][]byte
		cover, err := c.reader.Source.List(ctx, q, func(o source.Object) error {
			pods = append(pods, slices.Clone(o.Raw))
			return nil
		})
		if err != nil {
			return err
		}
		failure, all := cover.Of(namespace)
		if err := c.out.SetPods(namespace, pods, failure, all); err != nil {
			c.gap("reading the pods of an agent", source.ReadFailed, "it is not known why the agent does not run")
		}
	}
	return nil
}

// gap adds a gap. The caller holds mu.
func (c *clusterReader) gap(what string, reason source.Reason, effect string) {
	c.gaps = append(c.gaps, source.NewGap(what, source.Failure{Reason: reason}, effect))
}

// records reads the agents' Secrets, which name the namespaces of their BundleDeployments, and Helm's release records.
func (c *clusterReader) records(ctx context.Context, g *errgroup.Group, f *state.Fleet, o ClusterOptions) {
	agents, releases := f.SecretNamespaces()
	if !o.NoRecords || o.AgentSecrets {
		g.Go(func() error { return c.agentSecrets(ctx, append(agents, SystemNamespaces...)) })
	}
	if o.NoRecords {
		c.out.Coverage.Records = source.NotCovered(source.Failure{Reason: source.NotInSnapshot})
		return
	}
	c.reader.progress.Start("reading release records")
	if o.OtherReleases {
		g.Go(func() error { return c.releasesInConfigMaps(ctx) })
	}
	g.Go(func() error { return c.releases(ctx, releases, f.NamedReleases()) })
}

func (c *clusterReader) agentSecrets(ctx context.Context, namespaces []string) (err error) {
	slices.Sort(namespaces)
	q := source.Query{Kind: secretKind, FieldSelector: "metadata.name=" + fleet.AgentName,
		Fallback: slices.Compact(namespaces)}
	c.out.Coverage.AgentSecrets, err = c.reader.Source.List(ctx, q, func(o source.Object) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.out.AddAgentSecret(o.Raw) != nil {
			c.gap("reading a Secret "+fleet.AgentName, source.ReadFailed,
				"the cluster must be identified by other data")
		}
		return nil
	})
	return err
}

func (c *clusterReader) releasesInConfigMaps(ctx context.Context) (err error) {
	q := source.Query{Kind: configMapKind, LabelSelector: "owner=helm"}
	c.out.Coverage.ConfigMaps, err = c.reader.listMetadata(ctx, q, func(m *object.Meta) {
		if name, err := release.ParseSecretName(m.Metadata.Namespace, m.Metadata.Name); err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.out.AddRelease(name)
		}
	})
	return err
}

// maxUnpacked limits the total unpacked size, in bytes, of the records that are decoded concurrently. Decoding needs a
// multiple of that size. A larger record is decoded alone.
const maxUnpacked = 4 << 20

// denseRecord is a dense record of which the manifest was not read, and its value; nil if it may not be read, or was
// read before.
type denseRecord struct {
	*state.Record
	value []byte
}

// releases reads the release records. It decodes one record per processor concurrently. Dense records are decoded when
// the cost of all of them is known. named are the records that Fleet names.
func (c *clusterReader) releases(ctx context.Context, namespaces []string, named map[release.Name]bool) error {
	work := state.Work{Named: named}
	var later []denseRecord
	decoders, decoding := errgroup.WithContext(ctx)
	decoders.SetLimit(runtime.GOMAXPROCS(0))
	unpacked := semaphore.NewWeighted(maxUnpacked)
	q := source.Query{Kind: secretKind, FieldSelector: "type=" + release.SecretType, Fallback: namespaces}
	before := c.reader.Before
	if len(before.Records) > 0 {
		q.Remembered = func(namespace, name, version string) bool {
			return before.record(namespace, name, version) != nil
		}
	}
	cover, err := c.reader.Source.List(decoding, q, func(o source.Object) error {
		c.reader.progress.Object()
		if o.Remembered {
			m := o.Meta.Metadata
			known := before.record(m.Namespace, m.Name, m.ResourceVersion).InBrief()
			c.mu.Lock()
			defer c.mu.Unlock()
			if known.Dense > 0 {
				work.Count(&known.Record, known.Dense)
				later = append(later, denseRecord{known, nil})
				return nil
			}
			c.out.AddRecord(known)
			return nil
		}
		name, version, value, ok := c.record(o.Raw)
		if !ok {
			return nil
		}
		decoders.Go(func() error {
			rec, err := readRecord(decoding, &work, unpacked, name, value)
			if err != nil {
				return err
			}
			rec.Version = version
			c.mu.Lock()
			defer c.mu.Unlock()
			switch {
			case rec.Dense > 0 && work.Full(name.Namespace):
				later = append(later, denseRecord{rec, nil})
			case rec.Dense > 0:
				later = append(later, denseRecord{rec, value})
			default:
				c.addRecord(rec)
			}
			return nil
		})
		return decoding.Err()
	})
	if waited := decoders.Wait(); err == nil {
		err = waited
	}
	c.out.Coverage.Records = cover
	if err != nil {
		return err
	}
	return c.denseRecords(ctx, later, work.Exceeded())
}

// denseRecords adds dense records. Of those of the namespaces that exceed a limit, the manifests are not read.
func (c *clusterReader) denseRecords(ctx context.Context, all []denseRecord, exceeded map[string]error) error {
	unpacked := semaphore.NewWeighted(maxUnpacked)
	for _, x := range all {
		rec := x.Record
		if why := exceeded[x.Namespace]; why != nil {
			rec.OverBudget(why)
		} else if !rec.Brief {
			whole, err := readRecord(ctx, nil, unpacked, x.Name, x.value)
			if err != nil {
				return err
			}
			whole.Dense, whole.Version = rec.Dense, rec.Version
			rec = whole
		}
		c.mu.Lock()
		c.addRecord(rec)
		c.mu.Unlock()
	}
	return nil
}

// addRecord adds a release record. The caller holds mu.
func (c *clusterReader) addRecord(rec *state.Record) {
	if before, known := c.reader.Description.Unmasked.Record(rec.Namespace, rec.SecretName()); known {
		rec.Unreadable(before.Damaged, before.Manifest, before.Limit)
	}
	c.out.AddRecord(rec)
}

// readRecord decodes a release record. work counts dense records, or is nil. unpacked limits the size of those that are
// decoded concurrently.
func readRecord(ctx context.Context, work *state.Work, unpacked *semaphore.Weighted, name release.Name,
	value []byte) (rec *state.Record, err error) {
	// the second one is exact, and takes time
	for _, sizeOf := range []func([]byte) int{release.StatedSize, release.UnpackedSize} {
		whole := sizeOf(value)
		size := int64(min(whole, maxUnpacked))
		if err := unpacked.Acquire(ctx, size); err != nil {
			return nil, err
		}
		rec = work.ReadRecord(name, value, whole)
		unpacked.Release(size)
		if rec != nil && rec.Damaged == "" { // a damaged record may also state a wrong size
			break
		}
	}
	return rec, nil
}

// Record reads one release record again; nil if it does not exist, or could not be read.
func (r *Reader) Record(ctx context.Context, name release.Name) (*state.Record, error) {
	c := clusterReader{reader: r}
	var out *state.Record
	q := source.Query{Kind: secretKind, Namespaces: []string{name.Namespace},
		FieldSelector: "type=" + release.SecretType + ",metadata.name=" + name.SecretName()}
	_, err := r.Source.List(ctx, q, func(o source.Object) (err error) {
		if found, version, value, ok := c.record(o.Raw); ok && found == name {
			if out, err = readRecord(ctx, nil, semaphore.NewWeighted(maxUnpacked), name, value); err == nil {
				out.Version = version
			}
		}
		return err
	})
	return out, err
}

// record extracts a release record and its version from its Secret.
func (c *clusterReader) record(raw []byte) (name release.Name, version string, value []byte, ok bool) {
	var s struct {
		object.Meta
		Type string `json:"type"`
		Data struct {
			Release []byte `json:"release"`
		} `json:"data"`
	}
	err := object.Into(raw, &s)
	name, nameErr := release.ParseSecretName(s.Metadata.Namespace, s.Metadata.Name)
	switch {
	case err == nil && s.Type != release.SecretType:
		return name, "", nil, false
	case err != nil && nameErr == nil:
		return name, "", nil, true // a damaged record: decoding returns the error
	case nameErr != nil:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gap("release record "+s.Metadata.Namespace+"/"+s.Metadata.Name, "RecordUnreadable", "it is ignored")
		return name, "", nil, false
	}
	return name, strings.Clone(s.Metadata.ResourceVersion), s.Data.Release, true
}

// ClusterNamespaces reads the namespaces that Fleet made for the BundleDeployments of Clusters. They prove nothing
// unless all Clusters were read.
func (r *Reader) ClusterNamespaces(ctx context.Context, f *state.Fleet) (map[string]state.ClusterNamespace,
	[]source.Gap, error) {
	if !f.Read(state.ClusterKind, "") || !f.Read(state.BundleDeployment, "") {
		return nil, nil, nil
	}
	found := map[string]state.ClusterNamespace{}
	q := source.Query{Kind: namespaceKind, LabelSelector: fleet.ManagedLabel + "=true"}
	cover, err := r.listMetadata(ctx, q, func(m *object.Meta) {
		workspace, name := m.Metadata.Annotations[fleet.ClusterNamespaceLabel],
			m.Metadata.Annotations[fleet.ClusterLabel]
		if workspace == "" || name == "" || m.Metadata.DeletionTimestamp != "" {
			return
		}
		created, _ := time.Parse(time.RFC3339, m.Metadata.CreationTimestamp) // zero if it is not known
		found[m.Metadata.Name] = state.ClusterNamespace{Workspace: workspace, Cluster: name, Created: created}
	})
	if reason := cover.Failures()["*"].Reason; err != nil || reason == source.KindNotServed {
		return found, nil, err
	}
	const effect = "it is not known whether a namespace is left over from a deleted cluster"
	return found, source.CoverageGaps("listing the namespaces of clusters", cover, effect), nil
}
