// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

var (
	secretKind      = corev1.SchemeGroupVersion.WithKind("Secret")
	deploymentKind  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	statefulSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
)

// systemNamespaces are where Fleet's agents live unless told otherwise, for those who may not list Secrets everywhere.
var systemNamespaces = []string{"cattle-fleet-system", "cattle-fleet-local-system"}

// gather fills the inventory: Fleet's own objects and workloads first, then, knowing which revisions matter, the release records.
func (r *run) gather(ctx context.Context) error {
	var err error
	if r.desc, err = r.src.Describe(ctx); err != nil {
		return err
	}
	r.now = r.desc.TakenAt
	for _, g := range r.desc.Gaps {
		r.gap(g.What, source.Failure{Reason: source.Reason(g.Reason)}, g.Effect)
	}
	if r.kinds, err = r.src.Kinds(ctx); err != nil {
		return err
	}
	r.counter.start("reading Fleet's objects")
	if err := r.fleetObjects(ctx); err != nil {
		return err
	}
	r.counter.start("reading release records")
	if err := r.releaseRecords(ctx); err != nil {
		return err
	}
	r.inv = r.builder.Build(inventory.Reading{
		Namespaced:        r.namespaced,
		Records:           r.recordsProblem,
		BundleDeployments: r.deploymentsRead,
		AgentSecrets:      r.agentSecretsRead,
		OtherReleases:     r.configMapsRead,
		Captured:          r.desc.Origin == source.OriginSnapshot,
		StatedScope:       r.AgentScope,
	})
	// It holds on to the objects of every revision, which are done with.
	r.builder = inventory.Builder{}
	r.hideStated()
	r.fleetGaps()
	r.noRecords()
	for _, u := range r.inv.OverBound {
		r.gap("release record "+u.Namespace+"/"+u.SecretName(), source.Failure{Reason: "RecordUnreadable", Detail: u.OverBound},
			"what it states is not known")
	}
	for _, u := range r.inv.Unreadable {
		if u.OverBound != "" {
			continue
		}
		r.gap("release record "+u.Namespace+"/"+u.SecretName(), source.Failure{Reason: "RecordUnreadable", Detail: u.Damaged},
			"whose release it is cannot be said")
	}
	if err := r.found(); err != nil {
		return err
	}
	if err := r.statedScope(); err != nil {
		return err
	}
	return r.settleDisputes(ctx)
}

// hideStated takes note of the values that manifests state. Those of live Secrets follow as they stream past.
func (r *run) hideStated() {
	for _, raw := range r.inv.Secrets {
		if c, _, err := object.Decode(raw); err == nil {
			r.secrets.AddSecret(c)
		}
	}
	r.inv.Secrets = nil
}

// namespaced says whether a kind has namespaces: as the source says, else as it is known of built-in kinds.
func (r *run) namespaced(gvk schema.GroupVersionKind) bool {
	if k, ok := r.kinds.Preferred(gvk.GroupKind()); ok {
		return k.Namespaced
	}
	return !object.ClusterScoped(gvk.GroupKind())
}

// fleetObjects reads Fleet's own kinds and workloads, all at once.
func (r *run) fleetObjects(whole context.Context) error {
	g, ctx := errgroup.WithContext(whole)
	var mu sync.Mutex // guards the builder and what is noted of the lists
	for _, kind := range inventory.FleetKinds {
		gvk := v1alpha1.Kind(kind)
		if _, f, ok := r.kinds.Lookup(gvk); !ok {
			mu.Lock() // the lists of the kinds before it are under way
			r.fleet[kind] = source.NotCovered(f)
			mu.Unlock()
			continue
		}
		g.Go(func() error {
			cover, err := r.fleetKind(ctx, &mu, source.Query{Kind: gvk, Fallback: r.workspaces()})
			mu.Lock()
			defer mu.Unlock()
			r.fleet[kind] = cover
			return err
		})
	}
	workload := func(gvk schema.GroupVersionKind, name string) {
		if _, _, ok := r.kinds.Lookup(gvk); !ok {
			return
		}
		g.Go(func() error {
			_, err := r.src.List(ctx, source.Query{Kind: gvk, FieldSelector: "metadata.name=" + name, Fallback: systemNamespaces}, func(o source.Object) error {
				mu.Lock()
				defer mu.Unlock()
				if err := r.builder.AddWorkload(gvk.Kind, o.Raw); err != nil {
					r.gap("reading workload "+name, source.Failure{Reason: source.ReadFailed}, "its version and scope are not known")
				}
				return nil
			})
			return err // that it could not be read is no gap of its own: the scope then comes from the manifests
		})
	}
	workload(deploymentKind, fleet.AgentName)
	workload(statefulSetKind, fleet.AgentName)
	workload(deploymentKind, fleet.ControllerName)
	if err := g.Wait(); err != nil {
		return err
	}
	return r.deploymentsOfClusters(whole)
}

// fleetKind lists one of Fleet's own kinds into the inventory, which mu guards.
func (r *run) fleetKind(ctx context.Context, mu *sync.Mutex, q source.Query) (source.Coverage, error) {
	illegible := 0
	cover, err := r.src.List(ctx, q, func(o source.Object) error {
		r.counter.object()
		mu.Lock()
		defer mu.Unlock()
		if r.builder.AddFleet(q.Kind.Kind, o.Raw) != nil {
			illegible++
		}
		return nil
	})
	if err == nil && illegible > 0 {
		cover = undecoded(illegible)
	}
	return cover, err
}

// undecoded is the coverage of a list some of whose objects could not be decoded: any of them may be the one that is looked for.
func undecoded(n int) source.Coverage {
	return source.NotCovered(source.Failure{Reason: source.ReadFailed, Detail: fmt.Sprintf("%d of the objects could not be decoded", n)})
}

// workspaces are where GitRepos, Bundles and Clusters are unless told otherwise, for those who may not list them everywhere.
func (r *run) workspaces() []string {
	out := []string{"fleet-default", "fleet-local"}
	if ns := r.Scope.Namespace; ns != "" && !slices.Contains(out, ns) {
		out = append(out, ns)
	}
	return out
}

// deploymentsOfClusters reads the BundleDeployments cluster by cluster for those who may not list them everywhere.
func (r *run) deploymentsOfClusters(ctx context.Context) error {
	const kind = "BundleDeployment"
	namespaces := r.builder.ClusterNamespaces()
	if f, all := r.fleet[kind].Of(""); all || f.Reason != source.Forbidden || len(namespaces) == 0 {
		return nil
	}
	var mu sync.Mutex
	cover, err := r.fleetKind(ctx, &mu, source.Query{Kind: v1alpha1.Kind(kind), Namespaces: namespaces})
	r.fleet[kind] = cover
	return err
}

// fleetGaps notes which of Fleet's own objects could not be read. A snapshot need not hold what nothing in it refers to.
func (r *run) fleetGaps() {
	referred := map[string]bool{}
	for _, d := range r.inv.Deployments {
		for kind, key := range map[string]string{"Bundle": d.Bundle, "GitRepo": d.GitRepo, "HelmOp": d.HelmOp, "Cluster": d.Cluster} {
			referred[kind] = referred[kind] || key != ""
		}
	}
	for _, kind := range inventory.FleetKinds {
		cover := r.fleet[kind]
		missed := referred[kind] && r.inv.Has(kind) == 0
		switch cover.Failures()["*"].Reason {
		case source.KindNotServed: // no Fleet, or one without HelmOps
			continue
		case source.NotInSnapshot:
			if !missed {
				continue
			}
		}
		r.coverageGaps("listing "+kind+" objects", cover, "what Fleet says of itself is not known")
	}
}

// coverageGaps notes what a list could not read. Namespaces that failed as the whole did are not named one by one.
func (r *run) coverageGaps(what string, c source.Coverage, effect string) {
	failures := c.Failures()
	for _, ns := range sortedKeys(failures) {
		if ns != "*" && failures[ns].Reason == failures["*"].Reason {
			continue
		}
		where := ""
		if ns != "*" && ns != "" {
			where = " in namespace " + ns
		}
		r.gap(what+where, failures[ns], effect)
	}
}

// atOnceUnpacked bounds, in bytes, what the records that are decoded at the same time unpack to: decoding one takes a multiple of that. A
// record that unpacks to more is decoded alone.
const atOnceUnpacked = 4 << 20

// releaseRecords reads the Secrets by which agents know their cluster, and Helm's records. Decoding is spread over the processors.
func (r *run) releaseRecords(ctx context.Context) error {
	if r.StatusOnly {
		r.records = source.NotCovered(source.Failure{Reason: source.NotInSnapshot})
		return nil
	}
	if _, f, ok := r.kinds.Lookup(secretKind); !ok {
		r.records = source.NotCovered(f)
		return nil
	}
	agents, releases := r.builder.SecretNamespaces()
	agents = append(agents, systemNamespaces...)
	slices.Sort(agents)
	q := source.Query{Kind: secretKind, FieldSelector: "metadata.name=" + fleet.AgentName, Fallback: slices.Compact(agents)}
	cover, err := r.src.List(ctx, q, func(o source.Object) error {
		if err := r.builder.AddAgentSecret(o.Raw); err != nil {
			r.gap("reading a Secret "+fleet.AgentName, source.Failure{Reason: source.ReadFailed}, "which cluster this is must be told otherwise")
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, r.agentSecretsRead = cover.Of("")
	if err := r.releasesInConfigMaps(ctx); err != nil {
		return err
	}
	needed := r.builder.Needed()
	var mu sync.Mutex // guards the builder
	var work inventory.Work
	decoders, ctx := errgroup.WithContext(ctx)
	decoders.SetLimit(runtime.GOMAXPROCS(0))
	unpacked := semaphore.NewWeighted(atOnceUnpacked)
	q = source.Query{Kind: secretKind, FieldSelector: "type=" + release.SecretType, Fallback: releases}
	r.records, err = r.src.List(ctx, q, func(o source.Object) error {
		r.counter.object()
		name, value, ok := r.record(o.Raw)
		if !ok {
			return nil
		}
		decoders.Go(func() error {
			whole := release.UnpackedSize(value)
			size := int64(min(whole, atOnceUnpacked))
			if err := unpacked.Acquire(ctx, size); err != nil {
				return err
			}
			rec := work.ReadRecord(name, value, whole, needed(name))
			unpacked.Release(size)
			mu.Lock()
			defer mu.Unlock()
			r.builder.AddRecord(rec)
			return nil
		})
		return ctx.Err()
	})
	if waited := decoders.Wait(); err == nil {
		err = waited
	}
	return err
}

// releasesInConfigMaps notes the releases of those who set HELM_DRIVER=configmap. None of them is Fleet's, and only a plan of adoption asks
// whether a release exists from whom an object would be taken.
func (r *run) releasesInConfigMaps(ctx context.Context) error {
	if !r.Foresee {
		return nil
	}
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), LabelSelector: "owner=helm", MetadataOnly: true}
	undecoded := false
	cover, err := r.src.List(ctx, q, func(o source.Object) error {
		m, metaErr := o.ReadMeta()
		undecoded = undecoded || metaErr != nil
		if metaErr == nil {
			if name, nameErr := release.ParseSecretName(m.Metadata.Namespace, m.Metadata.Name); nameErr == nil {
				r.builder.AddRelease(name)
			}
		}
		return nil
	})
	_, all := cover.Of("")
	r.configMapsRead = all && !undecoded
	return err
}

// record takes a release record out of its Secret.
func (r *run) record(raw []byte) (release.Name, []byte, bool) {
	var s struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Type string `json:"type"`
		Data struct {
			Release []byte `json:"release"`
		} `json:"data"`
	}
	err := object.Into(raw, &s)
	name, nameErr := release.ParseSecretName(s.Metadata.Namespace, s.Metadata.Name)
	switch {
	case err == nil && s.Type != release.SecretType:
		return name, nil, false
	case err != nil && nameErr == nil:
		return name, nil, true // a damaged record, which decoding will say
	case nameErr != nil:
		r.gap("release record "+s.Metadata.Namespace+"/"+s.Metadata.Name, source.Failure{Reason: "RecordUnreadable"}, "it is left out")
		return name, nil, false
	}
	return name, s.Data.Release, true
}

// recordsProblem says why release records of a namespace may be missing.
func (r *run) recordsProblem(namespace string) (inventory.Problem, string) {
	f, ok := r.records.Of(namespace)
	if ok {
		return "", ""
	}
	switch f.Reason {
	case source.Forbidden:
		return inventory.RecordsForbidden, "its release record may not be read (Secrets)"
	case source.NotInSnapshot, source.KindNotServed:
		return inventory.RecordNotCaptured, "its release record is not in the snapshot"
	}
	return inventory.RecordsFailed, fmt.Sprintf("reading its release record failed (%s)", f.Detail)
}

// noRecordCaptured says whether the source is a snapshot of Fleet's own objects alone, such as fleet dump makes: they name releases, and there is
// no record of any.
func (r *run) noRecordCaptured() bool {
	installed := func(d *inventory.Deployment) bool { return d.BD != nil && d.BD.Status.Release != "" }
	return r.desc.Origin == source.OriginSnapshot && len(r.inv.Releases) == 0 && slices.ContainsFunc(r.inv.Deployments, installed)
}

// noRecords says once which release records could not be read, instead of once for each deployment.
func (r *run) noRecords() {
	failures := r.records.Failures()
	switch {
	case r.StatusOnly:
		r.inv.Notes = append(r.inv.Notes, "only the status that Fleet reports was checked (--status-only): no object was evaluated")
	case r.noRecordCaptured():
		r.gap("release records", source.Failure{Reason: source.NotInSnapshot, Detail: "the snapshot holds none (Secrets of type " + release.SecretType + ")"},
			"no object can be evaluated; what Fleet's status says is shown")
	case len(failures) > 0 && r.desc.Origin == source.OriginCluster:
		r.coverageGaps("listing release records (Secrets)", r.records, "the deployments whose records are there have no result")
	}
}
