// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// ToOptions parses the flags and the arguments that name targets. objects are the other arguments: without a target,
// --namespace is only their namespace, and the scope is every workspace. LoadDirectory completes the options.
func (f *ScopeFlags) ToOptions(args []string, objects ...Object) (engine.Options, error) {
	o := engine.Options{Version: f.in.Version, Renderer: f.in.Renderer, Pause: f.in.Pause, Commands: f.in.Commands()}
	var err error
	if o.Scope, err = f.scope(args, len(args) == 0 && len(objects) > 0); err != nil {
		return o, err
	}
	o.Commands = InWorkspace(o.Commands, o.Scope.Namespace)
	if o.Desired, err = f.from(o.Scope); err != nil {
		return o, err
	}
	if len(objects) > 0 && !f.in.Changed(desiredFlag) {
		o.Desired = engine.DesiredAuto // a bundle that is not installed also desires objects
	}
	o.Commands.Files = f.directoryArgs()
	o.AgentScope, err = f.in.AgentScope()
	return o, err
}

// CheckNamespace returns an error if the value of --namespace is not the name of a namespace, or if all is given too:
// the flag --all-namespaces.
func CheckNamespace(namespace string, all bool) error {
	switch wrong := validation.IsDNS1123Label(namespace); {
	case namespace == "":
		return nil
	case all:
		return errors.New("--namespace and --all-namespaces are mutually exclusive")
	case len(wrong) > 0:
		return fmt.Errorf("parsing --namespace %q: %s", namespace, strings.Join(wrong, "; "))
	}
	return nil
}

// scope parses the scope. If everyWorkspace is true, --namespace does not narrow it.
func (f *ScopeFlags) scope(args []string, everyWorkspace bool) (evaluate.Scope, error) {
	namespace := *f.in.Config.Namespace
	s := evaluate.Scope{Namespace: namespace}
	if everyWorkspace {
		s.Namespace = ""
	}
	var err error
	if s.Selector, err = f.Selector(); err != nil {
		return s, err
	}
	s.Targets, err = ParseTargets(args, namespace)
	return s, err
}
