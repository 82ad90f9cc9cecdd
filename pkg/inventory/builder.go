// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Builder gathers what an Inventory is made of, in any order. It is not for several goroutines at once.
type Builder struct {
	deployments   []*v1alpha1.BundleDeployment
	bundles       []*v1alpha1.Bundle
	gitRepos      []*v1alpha1.GitRepo
	helmOps       []*v1alpha1.HelmOp
	clusters      []*v1alpha1.Cluster
	clusterGroups []*v1alpha1.ClusterGroup

	// agentSecrets maps an agent's namespace to the namespace of its BundleDeployments, as its Secret says.
	agentSecrets map[string]string
	// blankSecrets are the namespaces of the agents' Secrets that do not show it.
	blankSecrets map[string]bool
	workloads    map[string]workload // by agent namespace; "" is the controller's
	records      map[release.Name]*record
	releases     map[string]bool
	latest       map[string]*Record // by "namespace/name", also those of others than Fleet
	budget       budget
}

// record is a release record with its manifest parsed.
type record struct {
	Record
	objects     []release.Object
	secrets     []release.Object // beside the objects
	manifestErr error
	// packed is its size in the cluster, kept about that in memory, in bytes. charged is what it unpacks to, 0 for one that is not dense.
	packed, kept, charged int
}

const kindDeployment = "Deployment"

// workload is what Fleet's own Deployments and StatefulSets tell.
type workload struct {
	kind    string
	version string
	scope   string
	isAgent bool
	// doubt says why the workload does not prove the scope: it does not run, or does not show its value. Empty where it does.
	doubt string
}

// FleetKinds are the kinds of Fleet that a Builder takes.
var FleetKinds = []string{"BundleDeployment", "Bundle", "GitRepo", "HelmOp", "Cluster", "ClusterGroup"}

// AddFleet adds one of Fleet's own objects, given as JSON. It keeps nothing of raw.
func (b *Builder) AddFleet(kind string, raw []byte) error {
	switch kind {
	case "BundleDeployment":
		return add(&b.deployments, raw)
	case "Bundle":
		return add(&b.bundles, raw)
	case "GitRepo":
		return add(&b.gitRepos, raw)
	case "HelmOp":
		return add(&b.helmOps, raw)
	case "Cluster":
		return add(&b.clusters, raw)
	case "ClusterGroup":
		return add(&b.clusterGroups, raw)
	}
	return nil
}

func add[T any](list *[]*T, raw []byte) error {
	v := new(T)
	if err := object.Into(raw, v); err != nil {
		return err
	}
	*list = append(*list, v)
	return nil
}

// AddAgentSecret adds the Secret by which an agent knows its BundleDeployments. Only the name of their namespace is taken from it.
func (b *Builder) AddAgentSecret(raw []byte) error {
	var s struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Data map[string][]byte `json:"data"`
	}
	if err := object.Into(raw, &s); err != nil {
		return err
	}
	ns := string(s.Data[fleet.AgentSecretNamespaceKey])
	if len(validation.IsDNS1123Label(ns)) > 0 { // the capture replaced the value
		if b.blankSecrets == nil {
			b.blankSecrets = map[string]bool{}
		}
		b.blankSecrets[s.Metadata.Namespace] = true
		return nil
	}
	if b.agentSecrets == nil {
		b.agentSecrets = map[string]string{}
	}
	b.agentSecrets[s.Metadata.Namespace] = ns
	return nil
}

// AddWorkload adds a Deployment or StatefulSet named fleet-agent or fleet-controller, given as JSON; others are passed over. An agent's
// StatefulSet (before 0.12) beside its Deployment is a leftover, in whatever order they come (Fleet's facts, versions 8.2).
func (b *Builder) AddWorkload(kind string, raw []byte) error {
	var w workloadObject
	if err := object.Into(raw, &w); err != nil {
		return err
	}
	name := w.Metadata.Name
	if name != fleet.AgentName && name != fleet.ControllerName {
		return nil
	}
	out := workload{kind: kind, isAgent: name == fleet.AgentName, doubt: w.idle()}
	for _, c := range w.Spec.Template.Spec.Containers {
		if out.version == "" {
			out.version = tag(c.Image)
		}
	}
	if scope, ok := w.scope(); ok {
		out.scope = scope
	} else {
		out.doubt = "its " + fleet.AgentScopeEnv + " is not shown"
	}
	key := ""
	if out.isAgent {
		key = w.Metadata.Namespace
	}
	if b.workloads == nil {
		b.workloads = map[string]workload{}
	}
	if b.workloads[key].kind != kindDeployment {
		b.workloads[key] = out
	}
	return nil
}

// workloadObject is the part of a Deployment or StatefulSet that is read.
type workloadObject struct {
	Metadata struct {
		Name       string `json:"name"`
		Namespace  string `json:"namespace"`
		Generation int64  `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int64 `json:"replicas"`
		Template struct {
			Spec struct {
				Containers []struct {
					Image   string           `json:"image"`
					Env     []workloadEnv    `json:"env"`
					EnvFrom []jsontext.Value `json:"envFrom"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Replicas           int64 `json:"replicas"`
		UpdatedReplicas    int64 `json:"updatedReplicas"`
		ReadyReplicas      int64 `json:"readyReplicas"`
	} `json:"status"`
}

type workloadEnv struct {
	Name      string         `json:"name"`
	Value     string         `json:"value"`
	ValueFrom jsontext.Value `json:"valueFrom"`
}

// idle says why no pod runs what the template states, "" where one does. A workload without a status, as in a capture that leaves it out, is
// taken to run.
func (w *workloadObject) idle() string {
	s := w.Status
	switch {
	case w.Spec.Replicas != nil && *w.Spec.Replicas == 0:
		return "it is scaled to zero"
	case s.ObservedGeneration == 0:
		return ""
	case s.ObservedGeneration < w.Metadata.Generation || s.UpdatedReplicas < s.Replicas:
		return "its rollout is not complete"
	case s.ReadyReplicas == 0:
		return "none of its pods is ready"
	}
	return ""
}

// scope returns the value of AGENT_SCOPE, which is empty where the variable is not there. ok is false where the value comes from elsewhere or
// the capture replaced it.
func (w *workloadObject) scope() (scope string, ok bool) {
	values := map[string]bool{}
	elsewhere := false
	for _, c := range w.Spec.Template.Spec.Containers {
		elsewhere = elsewhere || len(c.EnvFrom) > 0
		for _, e := range c.Env {
			if e.Name == fleet.AgentScopeEnv {
				scope, values[e.Value] = e.Value, true
				elsewhere = elsewhere || e.ValueFrom != nil
			}
		}
	}
	return scope, !elsewhere && len(values) < 2 && (scope == "" || len(validation.IsDNS1123Label(scope)) == 0)
}

// tag returns an image's tag, "" where it has none.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	i := strings.LastIndexByte(image, ':')
	if i < 0 || strings.Contains(image[i:], "/") {
		return ""
	}
	return image[i+1:]
}

// Needed returns whether the manifest of a revision can matter that is not deployed: not that of one newer than the one which a
// BundleDeployment names. It is asked for after Fleet's objects have been added.
func (b *Builder) Needed() func(release.Name) bool {
	named := map[string]int{}
	for _, bd := range b.deployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil {
			named[n.Release()] = max(named[n.Release()], n.Revision)
		}
	}
	return func(n release.Name) bool {
		last, known := named[n.Release()]
		return !known || n.Revision <= last
	}
}

// ReadRecord decodes the release record in a Secret, and its manifest where that is wanted. That of a deployed revision always is: what made
// it seem too new may be the BundleDeployment of another cluster, with a release of the same name. It is a pure function, and the costly
// part of filling a Builder: it may run in several goroutines, which share a Work. unpacked is the record's release.UnpackedSize.
func (w *Work) ReadRecord(secret release.Name, value []byte, unpacked int, manifest bool) *DecodedRecord {
	out := &record{packed: len(value)}
	out.Name = secret
	if unpacked > release.MostUnpacked(len(value)) {
		out.Damaged, out.OverBound = errUnpacked.Error(), errUnpacked.Error()
		return &DecodedRecord{out}
	}
	var bound *release.BoundError
	r, err := release.Decode(value)
	switch {
	case err != nil:
		out.Damaged = err.Error()
	case r.Name != secret:
		out.Damaged = "decoding release record: it is the record of release " + r.String()
	default:
		out.Record.Record = *r
		parsed := w.charge(out, unpacked)
		if parsed && (manifest || r.Status == release.StatusDeployed) && r.BundleID != "" {
			out.objects, out.manifestErr = r.Objects()
		}
		if parsed && r.BundleID != "" {
			out.secrets = r.Secrets(out.objects == nil)
		}
		if !parsed {
			out.drop(errDense)
		}
		out.Manifest = ""
		for i := range out.Hooks {
			out.Hooks[i].Manifest = ""
		}
	}
	if errors.As(err, &bound) || errors.As(out.manifestErr, &bound) {
		out.OverBound = bound.Error()
	}
	return &DecodedRecord{out}
}

// DecodedRecord is a release record ready to be added.
type DecodedRecord struct{ r *record }

// AddRecord adds a release record.
func (b *Builder) AddRecord(d *DecodedRecord) {
	if b.records == nil {
		b.records, b.latest = map[release.Name]*record{}, map[string]*Record{}
	}
	b.AddRelease(d.r.Name)
	if last := b.latest[d.r.Release()]; last == nil || last.Revision < d.r.Revision {
		record := d.r.Record // a copy: the objects and hooks of the record are not to be held on to
		record.Hooks = nil
		b.latest[d.r.Release()] = &record
	}
	if d.r.BundleID != "" || d.r.Damaged != "" {
		b.records[d.r.Name] = d.r
		b.budget.add(d.r)
	}
}

// AddRelease adds a release of which only the name is known.
func (b *Builder) AddRelease(name release.Name) {
	if b.releases == nil {
		b.releases = map[string]bool{}
	}
	b.releases[name.Release()] = true
}

// ClusterNamespaces returns where the BundleDeployments of the known Clusters are.
func (b *Builder) ClusterNamespaces() []string {
	var out []string
	for _, c := range b.clusters {
		if ns := c.Status.Namespace; ns != "" {
			out = append(out, ns)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// SecretNamespaces returns where the Secrets that matter are, as far as Fleet's objects tell: those of agents, and release records.
func (b *Builder) SecretNamespaces() (agents, releases []string) {
	for _, c := range b.clusters {
		if ns := c.Status.Agent.Namespace; ns != "" {
			agents = append(agents, ns)
		}
	}
	for _, bd := range b.deployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil {
			releases = append(releases, n.Namespace)
		}
	}
	slices.Sort(releases)
	return agents, slices.Compact(releases)
}
