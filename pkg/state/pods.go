// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// pod is the part of a Pod that is read.
type pod struct {
	object.Meta
	Spec struct {
		Volumes []struct {
			Claim struct {
				Name string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase          string            `json:"phase"`
		Reason         string            `json:"reason"`
		Message        string            `json:"message"`
		Conditions     []podCondition    `json:"conditions"`
		InitContainers []containerStatus `json:"initContainerStatuses"`
		Containers     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type podCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

type containerStatus struct {
	Name     string `json:"name"`
	Restarts int    `json:"restartCount"`
	State    struct {
		Waiting struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
	} `json:"state"`
}

// SetPods adds to the workload of an agent why its pods, given as JSON, do not run. unread is the reason if not all of
// them were read.
func (c *Cluster) SetPods(namespace string, raw [][]byte, unread source.Failure, all bool) error {
	w := c.Workloads[namespace]
	var first *pod
	for _, r := range raw {
		p := &pod{}
		switch err := object.Into(r, p); {
		case err != nil:
			return err
		case p.Metadata.DeletionTimestamp != "":
			continue
		case p.ready():
			w.Stuck = Stuck{Runs: true}
			c.Workloads[namespace] = w
			return nil
		}
		if first == nil || p.Metadata.Name < first.Metadata.Name {
			first = p
		}
	}
	switch {
	case first != nil:
		created, _ := time.Parse(time.RFC3339, first.Metadata.CreationTimestamp)
		w.Stuck = Stuck{Why: first.sentence(), Since: created, Logs: first.started()}
	case !all && unread.Reason == source.NotInSnapshot:
	case !all:
		w.Idle += ", and its pods were not read (" + string(unread.Reason) + ")"
	default:
		w.Stuck.Why = "it has no pod"
	}
	c.Workloads[namespace] = w
	return nil
}

func (p *pod) ready() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c podCondition) bool {
		return c.Type == "Ready" && c.Status == "True"
	})
}

// started reports whether a container of the pod has started, at least once.
func (p *pod) started() bool {
	return p.Status.Phase == "Running" || slices.ContainsFunc(p.Status.Containers, func(c containerStatus) bool {
		return c.Restarts > 0
	})
}

// sentence is why a pod does not run, as a sentence.
func (p *pod) sentence() string { return "pod " + p.Metadata.Name + " " + p.problem() }

// crashed returns the container that is started again after it ended; empty without one.
func (p *pod) crashed() string {
	for _, c := range slices.Concat(p.Status.InitContainers, p.Status.Containers) {
		if c.State.Waiting.Reason == "CrashLoopBackOff" {
			return c.Name
		}
	}
	return ""
}

// unscheduled returns why no node was found for a pod; ok is false if nothing shows that.
func (p *pod) unscheduled() (why string, ok bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return cmp.Or(c.Message, "no reason is stated"), true
		}
	}
	return "", false
}

// problem is why a pod does not run, as the end of a sentence.
func (p *pod) problem() string {
	if why, ok := p.unscheduled(); ok {
		return "is not scheduled: " + why
	}
	for _, c := range slices.Concat(p.Status.InitContainers, p.Status.Containers) {
		waiting := c.State.Waiting
		switch {
		case waiting.Reason == "":
		case waiting.Message == "":
			return fmt.Sprintf("waits for container %s: %s", c.Name, waiting.Reason)
		default:
			return fmt.Sprintf("waits for container %s: %s: %s", c.Name, waiting.Reason, waiting.Message)
		}
	}
	if p.Status.Reason != "" {
		return fmt.Sprintf("is %s: %s: %s", p.Status.Phase, p.Status.Reason, p.Status.Message)
	}
	return "is " + cmp.Or(p.Status.Phase, "there") + ", and not ready"
}

// Pods are the pods that do not run, by the uid of what they belong to. ReplicaSets and claims are added before them.
type Pods struct {
	sets   map[string]string // the uid of what controls a ReplicaSet, by that of the ReplicaSet
	claims map[types.NamespacedName]string
	first  map[string]*pod
}

// AddSet adds a ReplicaSet, given as JSON.
func (p *Pods) AddSet(raw []byte) error {
	m, err := object.ReadMeta(raw)
	if err == nil {
		put(&p.sets, m.Metadata.UID, controllerOf(m))
	}
	return err
}

// AddClaim adds a PersistentVolumeClaim, given as JSON, if it is Pending.
func (p *Pods) AddClaim(raw []byte) error {
	var c struct {
		object.Meta
		Spec struct {
			Class string `json:"storageClassName"`
		} `json:"spec"`
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
	err := object.Into(raw, &c)
	if err == nil && c.Status.Phase == "Pending" {
		put(&p.claims, types.NamespacedName{Namespace: c.Metadata.Namespace, Name: c.Metadata.Name},
			cmp.Or(c.Spec.Class, "none"))
	}
	return err
}

// Add adds a Pod, given as JSON.
func (p *Pods) Add(raw []byte) error {
	x := &pod{}
	if err := object.Into(raw, x); err != nil {
		return err
	}
	ended := x.Metadata.DeletionTimestamp != "" || x.Status.Phase == "Succeeded"
	if by := controllerOf(&x.Meta); !ended && !x.ready() {
		by = cmp.Or(p.sets[by], by)
		if other := p.first[by]; other == nil || x.before(other) {
			put(&p.first, by, x)
		}
	}
	return nil
}

// before orders pods: one that has failed may have been replaced.
func (p *pod) before(other *pod) bool {
	if failed := p.Status.Phase == "Failed"; failed != (other.Status.Phase == "Failed") {
		return !failed
	}
	return p.Metadata.Name < other.Metadata.Name
}

// controllerOf returns the uid of what controls an object; empty if nothing does.
func controllerOf(m *object.Meta) string {
	for _, o := range m.Metadata.OwnerReferences {
		if o.Controller {
			return o.UID
		}
	}
	return ""
}

// Of returns why a pod of the object with a uid does not run; nil if none was read that does not.
func (p *Pods) Of(uid string) *Stuck {
	x := p.first[uid]
	if x == nil {
		return nil
	}
	out := &Stuck{Why: x.sentence(), Crashed: x.crashed(),
		Ref: object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: x.Metadata.Namespace, Name: x.Metadata.Name}}
	// A claim can also wait for its pod.
	why, _ := x.unscheduled()
	waitsForClaim := strings.Contains(strings.ToLower(why), "persistentvolumeclaim")
	for _, v := range x.Spec.Volumes {
		class := p.claims[types.NamespacedName{Namespace: x.Metadata.Namespace, Name: v.Claim.Name}]
		if class != "" && waitsForClaim {
			out.Ref.Kind, out.Ref.Name = "PersistentVolumeClaim", v.Claim.Name
			out.Why += "; its claim " + v.Claim.Name + " is Pending (storage class: " + class + ")"
			break
		}
	}
	return out
}

// A user with all rights in one namespace can make a Deployment fleet-controller, a Secret fleet-agent or a Cluster
// there. What is in the namespaces of Fleet counts before them.

// AddController adds the Deployment of one of Fleet's controllers, given as JSON. That of fleet-controller shows where
// Fleet is installed: in one of its usual namespaces, otherwise in the only one with such a Deployment.
func (f *Fleet) AddController(raw []byte) error {
	namespace, name, w, err := readWorkload(kindDeployment, raw)
	if err != nil {
		return err
	}
	if f.controllers[name] == nil {
		put(&f.controllers, name, map[string]Workload{})
	}
	f.controllers[name][namespace] = w
	if name == fleet.ControllerName {
		namespace := installed(f.controllers[name])
		w := f.controllers[name][namespace]
		f.ControllerVersion, f.Agents.ControllerNamespace = w.Version, namespace
		f.ImageScan, f.Scheduling = w.ImageScan, w.Scheduling
	}
	return nil
}

// installed returns the namespace in which Fleet is installed; empty if several are possible.
func installed(controllers map[string]Workload) string {
	for _, namespace := range slices.Sorted(maps.Keys(controllers)) {
		if fleet.IsSystemNamespace(namespace) || len(controllers) == 1 {
			return namespace
		}
	}
	return ""
}

// ControllersRead records that all Deployments with the name of a controller were read.
func (f *Fleet) ControllersRead(name string) { put(&f.controllersRead, name, true) }

// Controller returns the Deployment of one of Fleet's controllers; nil if it does not exist. known is false if it was
// not read, or if it is not known where Fleet is installed.
func (f *Fleet) Controller(name string) (w *Workload, known bool) {
	namespace := f.Agents.ControllerNamespace
	if found, ok := f.controllers[name][namespace]; ok {
		return &found, true
	}
	return nil, f.controllersRead[name] && (namespace != "" || len(f.controllers[name]) == 0)
}

// KeepOwnDeployments removes the BundleDeployments whose namespace has no name that Fleet gives, if others are in such
// namespaces. No agent deploys them, but their labels and statuses can name the Clusters, Bundles and releases of
// others.
func (f *Fleet) KeepOwnDeployments() {
	own := func(bd *v1alpha1.BundleDeployment) bool { return fleet.IsClusterNamespace(bd.Namespace) }
	if slices.ContainsFunc(f.BundleDeployments, own) {
		f.BundleDeployments = slices.DeleteFunc(f.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
			return !own(bd)
		})
	}
}

// KeepOwnClusters removes the namespace of BundleDeployments from the status of each Cluster for which Fleet did not
// make it, if another Cluster has the same one.
func (f *Fleet) KeepOwnClusters() {
	own := map[string]*v1alpha1.Cluster{}
	for _, c := range f.Clusters {
		if c.Status.Namespace != "" && c.Status.Namespace == fleet.ClusterNamespace(c.Namespace, c.Name) {
			own[c.Status.Namespace] = c
		}
	}
	for _, c := range f.Clusters {
		if o := own[c.Status.Namespace]; o != nil && o != c {
			c.Status.Namespace = ""
		}
	}
}

// KeepOwnAgents removes the agents that only pretend: one of Fleet's is known, and theirs deploys the same
// BundleDeployments, those of a known Cluster, none, or what is in a namespace that Fleet does not make for a Cluster.
func (c *Cluster) KeepOwnAgents(f *Fleet) {
	isOwn := c.ownAgents(f)
	deploys := map[string]bool{} // the namespaces of BundleDeployments that own agents, or no agents here, deploy
	for agent := range c.knownAgents(f) {
		if isOwn(agent) {
			deploys[c.AgentSecrets[agent]] = true
		}
	}
	if len(deploys) == 0 && len(f.Clusters) == 0 {
		return // nothing here shows which agents are Fleet's
	}
	insert(deploys, slices.Values(f.ClusterNamespaces()))
	pretends := func(agent string) bool {
		if isOwn(agent) || c.HiddenAgentSecrets[agent] {
			return false
		}
		namespace := c.AgentSecrets[agent]
		return deploys[namespace] || !fleet.IsClusterNamespace(namespace)
	}
	maps.DeleteFunc(c.Workloads, func(agent string, _ Workload) bool { return pretends(agent) })
	maps.DeleteFunc(c.AgentSecrets, func(agent, _ string) bool { return pretends(agent) })
}

// knownAgents returns the namespaces of the agents that exist as far as it is known: those with a workload. On a
// management cluster a Secret is enough: its agent may not run, or its workload may not have been read, and the
// Clusters of users must not be believed then.
func (c *Cluster) knownAgents(f *Fleet) map[string]bool {
	out := map[string]bool{}
	insert(out, maps.Keys(c.Workloads))
	if len(f.Clusters) > 0 {
		insert(out, maps.Keys(c.AgentSecrets))
		insert(out, maps.Keys(c.HiddenAgentSecrets))
	}
	return out
}

// ownAgents returns which agents are Fleet's, by their namespaces: those in its usual namespaces, and those that report
// to a Cluster. If one in a usual namespace has a workload, the other ones were moved from there: it must have the
// BundleDeployments of that Cluster. A user who registers a cluster can let its Cluster report any namespace, so
// without an agent in a usual namespace, only a Cluster in one of Fleet's own workspaces counts.
func (c *Cluster) ownAgents(f *Fleet) func(namespace string) bool {
	usual, moved := false, map[string]bool{}
	for agent := range c.knownAgents(f) {
		usual = usual || fleet.IsSystemNamespace(agent)
	}
	for agent, deployments := range c.AgentSecrets {
		moved[deployments] = moved[deployments] || fleet.IsSystemNamespace(agent)
	}
	reported := map[string]bool{}
	for _, o := range f.Clusters {
		vouches := !usual && fleet.IsDefaultWorkspace(o.Namespace)
		if vouches || moved[o.Status.Namespace] {
			reported[o.Status.Agent.Namespace] = true
		}
	}
	return func(namespace string) bool { return fleet.IsSystemNamespace(namespace) || reported[namespace] }
}
