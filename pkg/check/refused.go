// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
		if c := facts.ConditionOf(d.BD.Status.Conditions, condition); c.Status == "False" {
			return c.Message
		}
	}
	return ""
}

// waits reports whether the agent has to apply a bundle deployment, or could not install it.
func waits(d *directory.Deployment) bool {
	spec, status := &d.BD.Spec, &d.BD.Status
	refused := facts.ConditionOf(status.Conditions, "Installed").Status == "False"
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
