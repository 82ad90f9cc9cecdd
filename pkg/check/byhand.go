// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// refusal is a kind of error of Helm or of an API server, and what has to be done before a deploy can succeed.
type refusal struct {
	words *regexp.Regexp
	// advice is one sentence, in which $1 is the first group of the words.
	advice string
	// fix gets the groups of the words, and then the whole message. It returns none if the fix is not known.
	fix func(in *Input, d *evaluate.BundleDeployment, groups []string) remedy.Remedy
}

// objectName is the name of an object in a message. It has no other characters than names of Kubernetes. Its length
// is not limited, because a bound needs 0.8 MiB at each start.
const objectName = `([a-z0-9][a-z0-9.-]*)`

// fixes are the kinds of errors, the most special one first. What a template reports comes before all of them: the
// author of a chart chooses its words, which must not lead to another step.
var fixes = []refusal{
	{words: regexp.MustCompile(`execution error at|values don't meet the specifications`),
		advice: "set the values that the message names"},
	{words: regexp.MustCompile("invalid cluster scoped object"), fix: ofClusterScoped},
	// Of a built-in kind.
	{words: regexp.MustCompile(`; (?:(?:[a-z]+|[a-z.]+\.k8s\.io)/)?v\w+, Kind=\w+\): .*` + undeclared +
		`|duplicate entries for key`), advice: "correct the field that the message names in the bundle"},
	{words: regexp.MustCompile(undeclared),
		advice: "apply the new definition of the kind by hand: Helm does not update those in crds/ of a chart, and " +
			"no change of the object helps. In the directory of the chart: kubectl apply --server-side " +
			"--force-conflicts -f crds/"},
	{words: regexp.MustCompile(`failed calling webhook "` + objectName + `"`),
		advice: "repair or delete the webhook $1, which the API server cannot call: it refuses each such object " +
			"until then"},
	{words: regexp.MustCompile(`exceeded quota: ` + objectName),
		advice: "raise ResourceQuota $1 of the namespace, or request less"},
	{words: conflict, fix: ofConflict},
	{words: regexp.MustCompile(`from current release manifest.* no matches for kind`),
		advice: "serve that version of the kind again: Helm must read the objects of the present release before it " +
			"deploys"},
	{words: regexp.MustCompile(`no matches for kind "`),
		advice: "install the definition of the kind before the deploy; if the bundle has it, move it to crds/ of a " +
			"chart, or to another bundle that dependsOn names"},
	{words: regexp.MustCompile(`resource name may not be empty`),
		advice: "give each object of the bundle a name: Helm does not support generateName"},
	{words: regexp.MustCompile(`(secrets|configmaps) "` + objectName + `" not found`), fix: ofValuesFrom},
	{words: regexp.MustCompile(`service account ` + objectName + `/` + objectName + `: .*not found`),
		fix: ofServiceAccount},
	{words: endingNamespace, fix: ofEnding},
	{words: regexp.MustCompile(`chart requires kubeVersion`),
		advice: "deploy a chart that supports the version of the cluster"},
	{words: awaited, fix: ofAwaited},
	{words: regexp.MustCompile(invalidOwnership)}, // the owner of the object decides
	{words: refusedObject, fix: ofObject},
}

// awaited are the words of Helm about an object that was not ready before its timeout.
var awaited = regexp.MustCompile(`resource ([A-Z]\w{0,62})/([a-z0-9-]{1,63})/` + objectName + ` not ready`)

// ofAwaited shows the object for which Helm waited.
func ofAwaited(in *Input, d *evaluate.BundleDeployment, m []string) remedy.Remedy {
	r := object.Ref{Kind: m[1], Namespace: m[2], Name: m[3]}
	return remedy.Run(in.Steps.On(d.ClusterID).Describe(r).Command,
		"shows why it is not ready: Helm waits for it until helm.timeoutSeconds have passed")
}

// endingNamespace is what an API server answers to the creation of an object in a namespace that is being deleted.
var endingNamespace = regexp.MustCompile(`in namespace ` + objectName + ` because it is being terminated`)

// showEnding shows a namespace that is being deleted.
func (in *Input) showEnding(d *directory.Deployment, namespace string) remedy.Remedy {
	return in.Steps.On(d.ClusterID).Show(object.Ref{APIVersion: "v1", Kind: state.Namespace, Name: namespace},
		"shows what keeps the namespace from being deleted: a deploy is refused until it is gone")
}

// ofEnding is the fix for a namespace that is being deleted.
func ofEnding(in *Input, d *evaluate.BundleDeployment, m []string) remedy.Remedy {
	return in.showEnding(&d.Deployment, m[1])
}

// ofClusterScoped is the fix for an object that has no namespace.
func ofClusterScoped(in *Input, d *evaluate.BundleDeployment, _ []string) remedy.Remedy {
	return in.AllowClusterScoped(d.GitRepo)
}

// ByHand is what has to be done before a deploy of a bundle can succeed that failed with an error of Helm; ok is false
// if that is not known.
func (in *Input) ByHand(d *evaluate.BundleDeployment, words string) (fix remedy.Remedy, ok bool) {
	for _, r := range fixes {
		m := r.words.FindStringSubmatch(words)
		switch {
		case m == nil:
			continue
		case r.fix != nil:
			fix = r.fix(in, d, append(m, words))
		case r.advice != "":
			fix = remedy.Advise("%s", strings.ReplaceAll(r.advice, "$1", m[len(m)-1]))
		}
		return fix, fix != remedy.Remedy{}
	}
	return fix, false
}

// invalidOwnership are the words with which Helm refuses to deploy over an object that is not of its release.
const invalidOwnership = "invalid ownership metadata"

// conflict are the words of an API server about fields that another manager owns.
var conflict = regexp.MustCompile(`conflicts? with "([^"]{1,128})"`)

// atomic finds a field that an API server takes as one value with all its keys. Fleet does not report a key that
// somebody adds to it, and Helm wants to remove it.
var atomic = regexp.MustCompile(`\.(s|nodeS)elector\b`)

// takeFields is the step that takes the fields of an object from the manager because of which an API server refused a
// deploy. That needs a field that has another value than the release states: who applied the same value keeps it.
func takeFields(d *evaluate.BundleDeployment, words string) (fix remedy.Remedy, ok bool) {
	m, o := conflict.FindStringSubmatch(words), refusedBy(d, words)
	if o == nil || m == nil || m[1] == fleet.AgentManager { // somebody ran Helm by hand
		return fix, false
	}
	i := slices.IndexFunc(d.Objects, func(x evaluate.Object) bool { return x.Ref == *o })
	if i < 0 { // the release does not have it
		return fix, false
	}
	if len(d.Objects[i].Differences) == 0 && !atomic.MatchString(words) {
		return fix, false
	}
	return remedy.Make(remedy.Step{Kind: remedy.StepRestore, Object: *o, Then: true}, fmt.Sprintf(
			"gives %s the values of the release, which takes the fields that the message names from %q",
			o.Key(), m[1])),
		true
}

// ofConflict is the fix for a field that another manager owns.
func ofConflict(_ *Input, d *evaluate.BundleDeployment, m []string) remedy.Remedy {
	if m[1] == fleet.AgentManager { // somebody ran Helm by hand
		return remedy.Remedy{}
	}
	claims := func(o object.Ref) bool { return o.Kind == "PersistentVolumeClaim" }
	if slices.ContainsFunc(append(desiredOf(d), d.Newest...), claims) {
		return remedy.Advise("set the fields to what the bundle states: %q owns them", m[1])
	}
	return remedy.Advise("set the fields to what the bundle states, or set helm.force in the fleet.yaml, which takes "+
		"them from %q", m[1])
}

// ofServiceAccount is the fix for the ServiceAccount with which a bundle is deployed, if that does not exist. It is in
// the namespace of the agent. A message about any other one is not believed.
func ofServiceAccount(in *Input, d *evaluate.BundleDeployment, m []string) remedy.Remedy {
	if d.BD == nil || m[1] != d.Agent || m[2] != d.BD.Spec.Options.ServiceAccount {
		return remedy.Remedy{}
	}
	return remedy.Run(in.Steps.On(d.ClusterID).Kubectl+remedy.InNamespace(m[1])+" create serviceaccount "+m[2],
		"creates the ServiceAccount with which the bundle is deployed; it also needs the rights to deploy its "+
			"objects")
}

// ofValuesFrom is the fix for an object that valuesFrom names, and that does not exist.
func ofValuesFrom(_ *Input, d *evaluate.BundleDeployment, m []string) remedy.Remedy {
	if d.BD == nil || d.BD.Spec.Options.Helm == nil {
		return remedy.Remedy{}
	}
	options := &d.BD.Spec.Options
	for _, v := range options.Helm.ValuesFrom {
		kind, key := "Secret", v.SecretKeyRef
		if m[1] == "configmaps" {
			kind, key = "ConfigMap", v.ConfigMapKeyRef
		}
		if key != nil && key.Name == m[2] {
			return remedy.Advise("create %s %s/%s with the key %s, which valuesFrom names", kind,
				cmp.Or(key.Namespace, options.ReleaseNamespace()), key.Name, cmp.Or(key.Key, "values.yaml"))
		}
	}
	return remedy.Remedy{}
}

// ofObject is the fix for an object that an API server refuses because of what the object is now.
func ofObject(in *Input, d *evaluate.BundleDeployment, m []string) remedy.Remedy {
	words := m[len(m)-1]
	o := refusedBy(d, words)
	invalid := strings.Contains(words, "nvalid") || strings.Contains(words, duplicate)
	_, name, kind := nameOf(m)
	switch {
	case Immutable(words) && o != nil:
		return in.Recreate(in.Steps.On(d.ClusterID), *o)
	case Immutable(words) && slices.Contains(losesData, kind):
		return keep(kind + " " + name)
	case Immutable(words):
		return remedy.Advise("delete %s %s, if that loses nothing: a deploy fails in the same way while it exists",
			kind, name)
	case invalid && strings.Contains(words, "failed to create resource"):
		return remedy.Advise("correct the field that the message names in the bundle")
	case invalid:
		return Correct(in.Steps.On(d.ClusterID), o, words)
	}
	return remedy.Remedy{}
}

// Retry makes Fleet try a deploy again that failed, by the condition with its error. After a refused installation, the
// agent tries nothing before there is another deployment id (docs/fleet-behavior.md, 1.7).
func (in *Input) Retry(d *evaluate.BundleDeployment, condition string) remedy.Remedy {
	if condition == "Installed" {
		return in.Steps.RedeployBundle(d)
	}
	return in.Steps.TryNow(&d.Deployment)
}

// RetryNow is the command for Retry after what refused the deploy is gone.
func (in *Input) RetryNow(d *evaluate.BundleDeployment, condition string) remedy.Remedy {
	retry := in.Retry(d, condition)
	if !strings.Contains(v1alpha1.ConditionOf(d.BD.Status.Conditions, condition).Message, invalidOwnership) {
		return retry
	}
	commands := in.Steps.Commands
	return repairing(commands.Repair+" "+commands.BundleArgs(&d.Deployment), []string{retry.Step.Kind.Allowed()},
		retry.Text)
}

// AllowClusterScoped is how a bundle of a GitRepo ("namespace/name", or empty) can have cluster-scoped objects.
func (in *Input) AllowClusterScoped(repo string) remedy.Remedy {
	if g := in.Facts.GitRepo(repo); g != nil && g.Spec.TargetNamespace != "" {
		return remedy.Advise("remove spec.targetNamespace from GitRepo %s, which forbids cluster-scoped objects, or "+
			"move the object to another GitRepo", repo)
	}
	return remedy.Advise("use defaultNamespace instead of namespace, or move the object to another bundle")
}

// immutable finds the words with which an API server refuses to change a field of an object that exists.
var immutable = regexp.MustCompile(`field is immutable|cannot change roleRef|may not change once set|` +
	`updates to \w+ spec for fields other than|is immutable after creation|spec is immutable|` +
	`may not be changed in an update|updates to parameters are forbidden`)

// Immutable reports whether an API server refuses an object because it exists with another value of a field.
func Immutable(words string) bool { return immutable.MatchString(words) }

// undeclared are the words with which an API server refuses a field that the definition of a kind does not have.
const undeclared = "field not declared in schema"

// duplicate are the words about a list with two elements that are the same.
const duplicate = "Duplicate value"

// Correct is how an object is deployed whose live fields make the API server refuse it. o is nil if the object is not
// known; words are those of the API server.
func Correct(commands remedy.Commands, o *object.Ref, words string) remedy.Remedy {
	if !strings.Contains(words, duplicate) {
		return remedy.Advise("correct the field that the message names: in the bundle, or in the object if it has " +
			"another value than the bundle")
	}
	const fix = "make the list that the message names equal to that of the bundle: Helm merges it by key, and keeps " +
		"what others changed as another element; until then, a deploy fails in the same way"
	if o == nil {
		return remedy.Advise("%s", fix)
	}
	return remedy.Run(commands.For(*o)+" edit "+remedy.KubectlName(*o), "opens the object, to %s", fix)
}

// refusedObject finds the object that Helm names in an error.
var refusedObject = regexp.MustCompile(
	`(?:(?:apply failed for|occurred while applying) object (?:(\S*)/)?(\S+) \S*, Kind=(\w+)|` +
		`cannot patch "([^"]+)" with kind (\w+)|failed to replace object: (\w+)(?:\.\S+)? "([^"]+)"|` +
		`(\w+) "([^"]+)" in namespace "([^"]*)" exists and cannot be imported)`)

// nameOf returns the object in a match of refusedObject. Its namespace may be empty although it has one.
func nameOf(m []string) (namespace, name, kind string) {
	return cmp.Or(m[1], m[10]), cmp.Or(m[2], m[4], m[7], m[9]), cmp.Or(m[3], m[5], m[6], m[8])
}

// refusedBy returns the object of a bundle deployment that Helm names in an error; nil if it names none of them, or if
// several have the name.
func refusedBy(d *evaluate.BundleDeployment, words string) *object.Ref {
	m := refusedObject.FindStringSubmatch(words)
	if m == nil {
		return nil
	}
	namespace, name, kind := nameOf(m)
	var found *object.Ref
	for _, o := range append(desiredOf(d), d.Newest...) {
		if o.Name != name || o.Kind != kind {
			continue
		}
		if namespace != "" && o.Namespace != namespace {
			continue
		}
		if found != nil && found.Key() != o.Key() {
			return nil
		}
		found = &o
	}
	return found
}

func desiredOf(d *evaluate.BundleDeployment) []object.Ref {
	var out []object.Ref
	for i := range d.Objects {
		out = append(out, d.Objects[i].Ref)
	}
	return out
}

// errorOf returns what Fleet reports about the last deploy of a bundle deployment that failed. It is not to be shown,
// because it may quote values of Secrets.
func errorOf(d *directory.Deployment) string {
	for _, condition := range []string{"Installed", "Deployed"} {
		if c := v1alpha1.ConditionOf(d.BD.Status.Conditions, condition); c.Status == "False" {
			return c.Message
		}
	}
	return ""
}

// waits reports whether the agent has to apply a bundle deployment, or could not install it.
func waits(d *directory.Deployment) bool {
	spec, status := &d.BD.Spec, &d.BD.Status
	refused := v1alpha1.ConditionOf(status.Conditions, "Installed").Status == "False"
	return spec.DeploymentID != "" && (refused || spec.DeploymentID != status.AppliedDeploymentID)
}

// losesData are the kinds whose objects have data, or objects of their own, that a deletion removes.
var losesData = []string{"PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition", "Namespace"}

// controlsPods are the kinds whose objects have pods.
var controlsPods = []string{"Job", "CronJob", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"}

// keep is how an object is deployed that an API server refuses to change, and that is not to be deleted.
func keep(name string) remedy.Remedy {
	return remedy.Advise("restore the field that the message names in the bundle, or give the object another name: a "+
		"deletion of %s loses what it has", name)
}

// Recreate is how an object is deployed that an API server refuses to change: it is deleted, and the next deploy
// creates it.
func (in *Input) Recreate(commands remedy.Commands, o object.Ref) remedy.Remedy {
	group := object.Group(o.APIVersion)
	builtIn := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
	if slices.Contains(losesData, o.Kind) || !builtIn {
		return keep(o.Key().String())
	}
	effect := "deletes the object; the next deploy creates it as the bundle states"
	switch {
	case o.Kind == "StatefulSet":
		effect = "deletes the object and its pods, and keeps their claims; the next deploy creates it as the bundle " +
			"states"
	case slices.Contains(controlsPods, o.Kind):
		effect = "deletes the object, and the pods that it controls; the next deploy creates it as the bundle states"
	}
	return remedy.Run(commands.For(o)+" delete "+remedy.KubectlName(o), "%s", effect)
}
