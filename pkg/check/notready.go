// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) namespaceMeta(out *found, d *evaluate.BundleDeployment) {
	f, missing := in.namespaceLacks(d)
	if len(missing) == 0 {
		return
	}
	for i := range d.Objects {
		if o := &d.Objects[i]; o.Namespace == f.Object.Name && refusesPods(missing, o) {
			f.say("%s is not ready: %s", o.Key(), o.Message)
			break
		}
	}
	out.report(f)
}

// namespaceLacks returns the finding about the namespace of a bundle deployment that is applied and whose agent is not
// told to wait, and what the namespace does not have.
func (in *Input) namespaceLacks(d *evaluate.BundleDeployment) (f Finding, missing []lack) {
	if !d.Placed || !facts.Applied(d) || d.BD.Status.Release == "" {
		return f, nil
	}
	options := d.Options()
	ref := object.Ref{APIVersion: "v1", Kind: state.Namespace, Name: options.ReleaseNamespace()}
	live, exists := in.Result.Namespaces[d.ClusterID][ref.Name]
	if !exists {
		return f, nil
	}
	missing = slices.Concat(lacks("label", options.NamespaceLabels, live.Labels),
		lacks("annotation", options.NamespaceAnnotations, live.Annotations))
	f = about(d, ref, "namespace %s does not have the labels or annotations that %s states", ref.Name, d.Key())
	f.Code = codes.NamespaceMeta
	isSecurity := func(l lack) bool { return strings.HasPrefix(l.key, fleet.PodSecurityPrefix) }
	effect := "sets these labels and annotations"
	if slices.ContainsFunc(missing, isSecurity) {
		f.say("%s", podSecurity(d.AgentVersion))
		effect += "; Pod Security then applies its labels to new pods of the namespace"
	}
	for _, l := range missing {
		f.Evidence = append(f.Evidence, l.String())
	}
	f.Remedies = only(remedy.Make(remedy.Step{Kind: remedy.StepRestore, Object: ref, Patch: patchOf(missing),
		Downstream: true}, effect))
	return f, missing
}

// violated finds the level of Pod Security in the words with which an API server refuses a pod.
var violated = regexp.MustCompile(`violates PodSecurity "(\w+):`)

// refusesPods reports whether the pods of an object in the namespace are refused because of a label that it does not
// have.
func refusesPods(missing []lack, o *evaluate.Object) bool {
	m := violated.FindStringSubmatch(o.Message)
	return len(m) > 0 && slices.ContainsFunc(missing, func(l lack) bool {
		return l.what == "label" && l.key == fleet.PodSecurityPrefix+"enforce" && l.live == m[1]
	})
}

// refusedPods returns the finding about the namespace of an object whose pods are refused, if the cause is that the
// namespace does not have the level that the bundle states.
func (in *Input) refusedPods(d *evaluate.BundleDeployment, o *evaluate.Object) (f Finding, ok bool) {
	f, missing := in.namespaceLacks(d)
	return f, o.Namespace == f.Object.Name && refusesPods(missing, o)
}

// podSecurity says that an agent may not write labels of Pod Security.
func podSecurity(agent string) string {
	const some = "some versions of the agent do not write labels of Pod Security"
	if agent == "" {
		return some
	}
	return some + "; this one is " + agent
}

// lack is a stated label or annotation that is not live.
type lack struct {
	what, key, stated, live string
	exists                  bool
}

// patchOf returns the JSON merge patch that sets what is missing.
func patchOf(missing []lack) string {
	metadata := map[string]map[string]string{"labels": {}, "annotations": {}}
	for _, l := range missing {
		metadata[l.what+"s"][l.key] = l.stated
	}
	out, _ := json.Marshal(map[string]any{"metadata": metadata}) // encoding strings cannot fail
	return string(out)
}

func (l lack) String() string {
	if !l.exists {
		return fmt.Sprintf("%s %s=%s is missing", l.what, l.key, l.stated)
	}
	return fmt.Sprintf("%s %s is %q, stated is %q", l.what, l.key, l.live, l.stated)
}

// lacks returns which stated labels or annotations are not live, by their keys.
func lacks(what string, stated, live map[string]string) []lack {
	var out []lack
	for _, key := range slices.Sorted(maps.Keys(stated)) {
		if value, exists := live[key]; !exists || value != stated[key] {
			out = append(out, lack{what, key, stated[key], value, exists})
		}
	}
	return out
}

func (in *Input) notReady(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	f := about(d, o.Ref, "%s is not ready", o.Key())
	if o.Condition != "" {
		f.Message += ": " + o.Condition
	}
	if o.Stuck != nil {
		f.say("%s", o.Stuck.Why)
	}
	f.sayIf(o.Message != "", said(&d.Deployment, o))
	f.sayIf(isOwnRepo(&d.Deployment, o), ofOwnRepo(&d.Deployment))
	f.sayIf(o.Deletion != "", o.Deletion)
	if refused, ok := in.refusedPods(d, o); ok {
		f.Follows = []Origin{{Code: codes.NamespaceMeta, Cluster: d.Cluster, Object: refused.Object}}
	}
	f.Remedies = only(in.inspect(d, o))
	if rule, err := json.Marshal(o.Ignorable); err == nil && o.Ignorable != nil {
		f.Remedies = append(f.Remedies, remedy.Advise("if the condition is normal for the object, set \"ignore: "+
			"{conditions: [%s]}\" in the fleet.yaml: Fleet then ignores it in all objects of the bundle", rule))
	}
	out.report(f)
}

// inspect is the next step about an object that is not ready: what shows more of it than its own conditions.
func (in *Input) inspect(d *evaluate.BundleDeployment, o *evaluate.Object) remedy.Remedy {
	commands := in.Steps.On(d.ClusterID)
	switch {
	case o.Deletion != "":
		return commands.Show(o.Ref, "shows its finalizers and conditions")
	case o.Kind == "Job" && strings.HasPrefix(o.Condition, "Failed="):
		return commands.LogsOfJob(o.Namespace, o.Name)
	case o.Stuck == nil:
		return commands.Describe(o.Ref)
	case o.Stuck.Crashed != "":
		return commands.LogsOfCrash(o.Stuck.Ref, o.Stuck.Crashed)
	}
	return commands.Describe(o.Stuck.Ref)
}

// refusedRepo returns the GitRepo ("namespace/name") over which Helm refuses to deploy; empty if it is another object.
func refusedRepo(words string) string {
	m := refusedObject.FindStringSubmatch(words)
	if m == nil {
		return ""
	}
	namespace, name, kind := nameOf(m)
	if kind != state.GitRepo {
		return ""
	}
	return namespace + "/" + name
}

// ofOwnRepo says that the GitRepo of a bundle deployment is an object of it.
func ofOwnRepo(d *directory.Deployment) string {
	return "GitRepo " + d.GitRepo + " is an object of its own bundle: the state of each is part of that of the " +
		"other, and deleting the bundle deletes it"
}

// isOwnRepo reports whether an object of a bundle deployment is the GitRepo of it.
func isOwnRepo(d *directory.Deployment, o *evaluate.Object) bool {
	return o.Key() == facts.Named(state.GitRepo, d.GitRepo).Key()
}

// said is the message of an object that is not ready. That of a GitRepo repeats itself if it is one of its own bundle.
func said(d *directory.Deployment, o *evaluate.Object) string {
	if !isOwnRepo(d, o) {
		return o.Message
	}
	before, _, _ := strings.Cut(o.Message, o.Key().String())
	return strings.TrimRight(before, "; ")
}

// adopted reports whether the GitRepo over which Helm refused to deploy has been assigned to the bundle since then.
func (in *Input) adopted(d *directory.Deployment, words string) bool {
	g := in.Facts.GitRepo(refusedRepo(words))
	if g == nil {
		return false
	}
	class, _ := ownership.Classify(ownership.MetadataOf(g.Labels, g.Annotations), d.Ownership)
	return class == ownership.Owned
}
