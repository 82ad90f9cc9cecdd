// SPDX-License-Identifier: Apache-2.0

// Package remedy makes the commands that findings suggest. The package is pure.
package remedy

import (
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

// Assign plans to assign the objects of a bundle to it.
func (c Commands) Assign(d *directory.Deployment) Remedy {
	return Run(c.Adopt+" "+c.BundleArgs(d), "shows which labels and annotations change; asks before it writes").
		With(Step{Kind: StepAdopt, Object: d.Ref()})
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
