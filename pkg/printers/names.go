// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"io"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Names prints the bundle deployments that are not ready.
func (p Audit) Names(w io.Writer) error {
	for _, bd := range p.Report.BundleDeployments {
		if bd.State == report.Ready {
			continue
		}
		if err := bundleDeploymentName(w, bd.Namespace, bd.Name); err != nil {
			return err
		}
	}
	return nil
}

// Names prints the bundle deployments whose verdict is not OK.
func (p Preflight) Names(w io.Writer) error {
	for _, r := range p.Report.BundleDeployments {
		if r.Verdict == report.VerdictOK {
			continue
		}
		if err := bundleDeploymentName(w, r.Namespace, r.Name); err != nil {
			return err
		}
	}
	return nil
}

// Names prints the objects that the plan changes.
func (p Adoption) Names(w io.Writer) error {
	for _, o := range p.Plan.Objects {
		if o.Action == report.ActionRefuse || o.Action == report.ActionNone {
			continue
		}
		if err := objectName(w, o.Ref); err != nil {
			return err
		}
	}
	return nil
}

// Names prints the objects.
func (p Ownership) Names(w io.Writer) error {
	for _, o := range p.Report.Objects {
		if err := objectName(w, o.Ref); err != nil {
			return err
		}
	}
	return nil
}

// bundleDeploymentName prints a bundle deployment. On a downstream cluster, where only its release is known, it has no namespace.
func bundleDeploymentName(w io.Writer, namespace, name string) error {
	return printName(w, namespace, "bundledeployment.fleet.cattle.io", name)
}

func objectName(w io.Writer, r object.Ref) error {
	return printName(w, r.Namespace, r.Key().Type(), r.Name)
}

// printName prints a name as kubectl does, KIND.GROUP/NAME, after the flag for its namespace: the objects are of many namespaces, and a line
// is the arguments of kubectl.
func printName(w io.Writer, namespace, kind, name string) error {
	args := shellescape.Quote(kind + "/" + name)
	if namespace != "" {
		args = "-n " + shellescape.Quote(namespace) + " " + args
	}
	_, err := fmt.Fprintln(w, printable(args))
	return err
}
