// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// kubectlName returns an object as a quoted argument of kubectl: "deployment.apps/frontend".
func kubectlName(r object.Ref) string {
	return escape.Shell(r.Key().Type() + "/" + r.Name)
}

// named returns a resource and a name as quoted arguments of kubectl: "secret web". A snapshot may have a name that is a flag.
func named(resource, name string) string {
	if strings.HasPrefix(name, "-") {
		return escape.Shell(resource + "/" + name)
	}
	return resource + " " + escape.Shell(name)
}

// lastArgument quotes the last argument of a command, which must not be a flag.
func lastArgument(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + escape.Shell(name)
	}
	return escape.Shell(name)
}

// kubectl returns the beginning of a command about an object: "kubectl --context prod -n web".
func (c Commands) kubectl(r object.Ref) string { return c.Kubectl + inNamespace(r.Namespace) }

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + escape.Shell(namespace)
}

// nextGeneration is a forceSyncGeneration that neither the deployment's GitRepo nor the deployment itself has had.
func (m *Maker) nextGeneration(d *evaluate.BundleDeployment) int64 {
	var last int64
	if d.BD != nil {
		last = d.BD.Spec.Options.ForceSyncGeneration
	}
	if g := m.GitRepo(d.GitRepo); g != nil {
		last = max(last, g.Spec.ForceSyncGeneration)
	}
	return last + 1
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list returns up to three names, and the number of the others.
func list(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Ref returns the reference of one of Fleet's own objects.
func Ref(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name}
}

// refOf returns the reference of the object of an aggregate.
func refOf(a *evaluate.Aggregate) object.Ref {
	return Ref(a.Kind, a.Object.GetNamespace(), a.Object.GetName())
}
