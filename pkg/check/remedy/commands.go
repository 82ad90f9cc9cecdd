// SPDX-License-Identifier: Apache-2.0

// Package remedy makes the commands that findings suggest. The package is pure.
package remedy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Commands are the beginnings of the commands that findings suggest. They name the cluster that was audited, so that a
// command that is pasted into a shell never writes to another cluster.
type Commands struct {
	// Audit repeats this audit, without its scope: "kubectl fleetdoctor audit --snapshot dump.tgz". PrintRole prints
	// the role that the audit needs; Adopt, Owner, Repair, Preflight, Targets and Why read the same source.
	Audit, PrintRole, Adopt, Owner, Repair, Preflight, Targets, Why string
	// Files are the arguments that name the directory of a bundle: "-f guestbook".
	Files string
	// Downstream is true if the commands read a cluster without its management cluster: they name a bundle by its id.
	Downstream bool
	// Kubectl and Helm are "kubectl --context prod", "helm --kube-context prod". For a captured cluster they may have a
	// placeholder for the context, which a shell refuses.
	Kubectl, Helm string
}

// BundleArgs are the arguments of this program that name the bundle of a deployment.
func (c Commands) BundleArgs(d *directory.Deployment) string {
	if d.FromFiles() {
		return c.Files
	}
	if d.BD == nil || c.Downstream {
		return escape.Shell("bundledeployment/" + d.Name)
	}
	workspace, name, _ := strings.Cut(d.Bundle, "/")
	if workspace == "" {
		return escape.Shell("bundledeployment/" + d.Key())
	}
	return escape.Shell("bundle/"+name) + " -n " + escape.Shell(workspace)
}

// For returns the beginning of a command about an object: "kubectl --context prod -n web".
func (c Commands) For(r object.Ref) string { return c.Kubectl + InNamespace(r.Namespace) }

// KubectlName returns an object as a quoted argument of kubectl: "deployment.apps/frontend".
func KubectlName(r object.Ref) string {
	return escape.Shell(r.Key().Type() + "/" + r.Name)
}

// Named returns a resource and a name as quoted arguments of kubectl: "secret web". A snapshot may have a name that is
// a flag.
func Named(resource, name string) string {
	if strings.HasPrefix(name, "-") {
		return escape.Shell(resource + "/" + name)
	}
	return resource + " " + escape.Shell(name)
}

// LastArgument quotes the last argument of a command, which must not be a flag.
func LastArgument(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + escape.Shell(name)
	}
	return escape.Shell(name)
}

// InNamespace returns the argument that names a namespace; empty without one.
func InNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + escape.Shell(namespace)
}

// Describe shows the conditions and events of an object.
func (c Commands) Describe(r object.Ref) Remedy {
	return Run(c.For(r)+" describe "+KubectlName(r), "shows its conditions and events")
}

// Show prints an object.
func (c Commands) Show(r object.Ref, effect string) Remedy {
	return Run(c.For(r)+" get "+KubectlName(r)+" -o yaml", "%s", effect)
}

// DeleteBundle deletes a Bundle.
func (c Commands) DeleteBundle(r object.Ref) Remedy {
	return Run(c.For(r)+" delete "+KubectlName(r), "deletes the bundle, and uninstalls it from all of its clusters; "+
		"impact shows what that removes")
}

// LogsOfJob shows the log of a Job.
func (c Commands) LogsOfJob(namespace, name string) Remedy {
	return Run(c.Kubectl+InNamespace(namespace)+" logs "+escape.Shell("job/"+name)+" --all-containers",
		"shows the log of the Job, while its pod exists")
}

// LogsOfCrash shows the log of a container of a pod before it was started again.
func (c Commands) LogsOfCrash(pod object.Ref, container string) Remedy {
	return Run(c.For(pod)+" logs "+KubectlName(pod)+" -c "+escape.Shell(container)+" --previous",
		"shows the log of the container until it ended")
}

// Unlabel removes a label of an object.
func (c Commands) Unlabel(r object.Ref, label, effect string) Remedy {
	return Run(c.For(r)+" label "+KubectlName(r)+" "+escape.Shell(label+"-"), "%s", effect)
}

// List prints the objects of Fleet of a kind, by the plural name.
func (c Commands) List(resource, namespace, effect string) Remedy {
	return Run(c.Kubectl+InNamespace(namespace)+" get "+resource+"."+v1alpha1.GroupVersion.Group, "%s", effect)
}

// ShowSecret prints a Secret without its values.
func (c Commands) ShowSecret(r object.Ref) Remedy {
	return Run(c.For(r)+" get "+Named("secret", r.Name)+" --show-labels",
		"shows the type and the labels of the Secret, and no value")
}

// History lists the revisions of a release.
func (c Commands) History(n release.Name) Remedy {
	return Run(c.Helm+InNamespace(n.Namespace)+" history "+LastArgument(n.Name),
		"lists the revisions of the release with their states")
}

// ExplainTargets explains which clusters the targets of a bundle select.
func (c Commands) ExplainTargets(b *v1alpha1.Bundle) Remedy {
	return Run(c.Targets+" "+escape.Shell("bundle/"+b.Name)+InNamespace(b.Namespace),
		"shows which target selects each cluster, or why none does")
}

// ShowRole prints the role that the audit needs.
func (c Commands) ShowRole() Remedy {
	return Run(c.PrintRole, "prints the role that the audit needs, and applies nothing")
}

// Predict predicts the problems of a deploy.
func (c Commands) Predict(d *directory.Deployment) Remedy {
	return Run(c.Preflight+" "+c.BundleArgs(d),
		"predicts what a deploy changes and what refuses it, and writes nothing")
}

// Assign plans to assign the objects of a bundle to it. from is the owner to take them from; empty without one.
func (c Commands) Assign(d *directory.Deployment, from string) Remedy {
	out := Run(c.Adopt+" "+c.BundleArgs(d), "shows which labels and annotations change; asks before it writes")
	if from != "" {
		out = Run(out.Command+" --dangerous-take-from="+escape.Shell(from),
			"takes it over from that owner; shows what changes, and asks before it writes")
	}
	return out.With(Step{Kind: StepAdopt, Object: d.Ref()})
}

// ShowDifferences shows every field that differs.
func (c Commands) ShowDifferences(d *directory.Deployment) Remedy {
	return Run(c.Audit+" "+c.BundleArgs(d)+" --diff", "shows the desired and the live value of each field")
}

// Rules prints the rules with which Fleet ignores what is different. effect says which ones.
func (c Commands) Rules(d *directory.Deployment, effect string, args ...any) Remedy {
	return Run(c.Audit+" "+c.BundleArgs(d)+" -o compare-patches", effect, args...)
}

// ShowFindings audits the bundle of a deployment.
func (c Commands) ShowFindings(d *directory.Deployment) Remedy {
	return Run(c.Audit+" "+c.BundleArgs(d), "shows the findings about it, and how to proceed")
}

// ShowOwner shows the owner of an object.
func (c Commands) ShowOwner(kind, namespace, name string) Remedy {
	return Run(c.Owner+" "+escape.Shell(strings.ToLower(kind)+"/"+name)+InNamespace(namespace),
		"shows which bundle owns the %s", kind)
}

// ShowCauses shows the chain of causes for which a bundle is not ready.
func (c Commands) ShowCauses(d *directory.Deployment) Remedy {
	return Run(c.Why+" "+c.BundleArgs(d), "shows the chain of causes, and the next step at its end")
}

// Remedy is one way to proceed after a finding, or an item of a preflight. It has a text, a command, or both.
type Remedy struct {
	// Text is a sentence: what to do if there is no command, otherwise the effect of the command.
	Text string `json:"text,omitempty" text:"redact"`
	// Command is a command line for a shell. It does not depend on how the program was called. A command of kubectl or
	// Helm for a snapshot has a placeholder for the context of the captured cluster, which a shell refuses, if
	// --context did not name the context.
	Command string `json:"command,omitempty" text:"redact"`
	// URL is the address of a page that explains the finding, or the rule of the item.
	URL string `json:"url,omitempty" text:"keep"`
	// Step is what the verb repair does; none for a remedy that it does not make.
	Step Step `json:"-" text:"keep"`
}

// Lines returns the lines that show a remedy: its command and the effect of it, or one sentence. The command is first,
// because it is the subject of the effect.
func (r Remedy) Lines() []string {
	return slices.DeleteFunc([]string{r.Command, r.Text}, func(line string) bool { return line == "" })
}

// Run is a command with its effect.
func Run(command, effect string, args ...any) Remedy {
	return Remedy{Command: command, Text: fmt.Sprintf(effect, args...)}
}

// Advise is a remedy without a command.
func Advise(format string, args ...any) Remedy { return Remedy{Text: fmt.Sprintf(format, args...)} }

// With returns the remedy as one that the verb repair makes.
func (r Remedy) With(s Step) Remedy {
	r.Step = s
	return r
}

// Make is a remedy that only the verb repair makes; the check of the finding adds its command. effect is what the verb
// does.
func Make(s Step, effect string) Remedy {
	return Remedy{Text: effect, Step: s}
}

// ByHand returns the remedy as one that the verb repair does not make: something else has to be done first.
func (r Remedy) ByHand() Remedy { return r.With(Step{}) }

// StepKind is what the verb repair does to an object.
type StepKind string

// The kinds of steps, in the order in which they are made. The verb needs --allow for each that is not adopt, create or
// restore.
const (
	StepUnblock  StepKind = "unblock"  // removes what makes Helm refuse every deploy of a release
	StepAdopt    StepKind = "adopt"    // writes the ownership metadata
	StepCreate   StepKind = "create"   // creates a missing object as its release states it
	StepRestore  StepKind = "restore"  // gives the fields that differ their desired values
	StepRecreate StepKind = "recreate" // deletes an object, and creates it as its release states it
	StepRemove   StepKind = "remove"   // deletes what is left over
	StepResume   StepKind = "resume"   // continues what is paused
	StepDeploy   StepKind = "deploy"   // makes an agent of Fleet deploy again
)

// StepKinds are the kinds, in their order.
func StepKinds() []StepKind {
	return []StepKind{StepUnblock, StepAdopt, StepCreate, StepRestore, StepRecreate, StepRemove, StepResume, StepDeploy}
}

// Allowed returns the value of --allow that a kind of step needs; empty if it is allowed by default.
func (k StepKind) Allowed() string {
	switch k {
	case StepUnblock, StepResume, StepDeploy:
		return "deploy"
	case StepRecreate:
		return "recreate"
	case StepRemove:
		return "delete"
	}
	return ""
}

// NeverDeleted returns why the verb repair does not delete an object, also if it would be created again; empty if it
// may.
func NeverDeleted(r object.Ref) string {
	switch r.Kind {
	case "PersistentVolumeClaim", "PersistentVolume":
		return "it holds data: to delete it is left to you"
	case "Namespace":
		return "deleting it deletes all that it contains"
	case "CustomResourceDefinition":
		return "deleting it deletes all objects of its kind"
	}
	return ""
}

// Step is a step of the verb repair. The zero value is none.
type Step struct {
	Kind StepKind
	// Object is what the step writes.
	Object object.Ref
	// Patch is a JSON merge patch, for resume and deploy; Subresource is what it is for, empty for the object itself.
	Patch, Subresource string
	// Downstream is true if Object is on the cluster of the bundle deployment, although it is not one of its objects.
	Downstream bool
	// Effect is a consequence that the plan names, as a sentence; empty if there is none beside that of its kind.
	Effect string
	// Then is true if another step of the same finding follows.
	Then bool
}

// More reports whether further steps of the same finding follow: this one only makes way for another one.
func (s Step) More() bool {
	switch s.Kind {
	case StepUnblock, StepAdopt, StepResume:
		return true
	}
	return s.Then
}
