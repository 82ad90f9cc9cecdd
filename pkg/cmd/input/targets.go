// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TargetArgs is the usage of targets. As in kubectl, "bundle a b" is valid too.
const TargetArgs = "[gitrepo/NAME | helmop/NAME | bundle/NAME | cluster/NAME | bundledeployment/NAME ...]"

// kinds are the kinds of targets, in the order of messages.
var kinds = []string{evaluate.TargetGitRepo, evaluate.TargetHelmOp, evaluate.TargetBundle, evaluate.TargetCluster,
	evaluate.TargetBundleDeployment}

// ParseTargets parses "gitrepo/a bundle/b" and "bundle a b": the arguments after a kind alone are names, up to the
// next KIND/NAME. A kind without names is every object of the kind. namespace is that of --namespace.
func ParseTargets(args []string, namespace string) ([]evaluate.Target, error) {
	var out []evaluate.Target
	for len(args) > 0 {
		first := args[0]
		kind, name, slash := strings.Cut(first, "/")
		names := []string{name}
		args = args[1:]
		if known := targetKind(kind); known != "" && !slash {
			end := slices.IndexFunc(args, isTarget)
			if end < 0 {
				end = len(args)
			}
			names, args = args[:end], args[end:]
			if len(names) == 0 {
				out = append(out, evaluate.Target{Kind: known})
			}
		}
		if targetKind(kind) == "" || slices.Contains(names, "") {
			err := fmt.Errorf("parsing argument %q: it must be KIND/NAME, with one of the kinds %s", first,
				strings.Join(kinds, ", "))
			return nil, &cli.Error{Status: cli.ExitUsage, Err: err, Hint: NearKind(first)}
		}
		for _, name := range names {
			t := evaluate.Target{Kind: targetKind(kind), Name: name}
			if stated, _, ok := strings.Cut(name, "/"); ok {
				err := sameNamespace(t.String(), stated, namespace)
				switch {
				case err != nil && slash:
					return nil, err
				case err != nil:
					return nil, inList(err, first, name)
				}
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// inList adds to the hint of an error of a name that follows a kind alone: it may have been meant as KIND/NAME.
func inList(err error, kind, name string) error {
	if e, ok := errors.AsType[*cli.Error](err); ok {
		e.Hint += fmt.Sprintf(" After %q, each argument is a name: to name the object %s too, write %s/NAME before it.",
			kind, name, kind)
	}
	return err
}

// NearKind asks whether the user meant an argument with a similar kind. It returns "" if no kind is similar.
func NearKind(arg string) string {
	kind, name, slash := strings.Cut(arg, "/")
	if slash {
		name = "/" + name
	}
	if targetKind(kind) != "" {
		return ""
	}
	return cli.HintIn("", kind, name, kinds)
}

// CheckNames returns an error of usage if a target has no name, for a verb whose targets must have one.
func CheckNames(targets []evaluate.Target) error {
	for _, t := range targets {
		if t.Name == "" {
			return cli.UsageError(fmt.Errorf("parsing argument %q: a name is required: %s/NAME", t, t.Kind))
		}
	}
	return nil
}

// Targets does what ParseTargets does, requires names, and adds the namespace to those that state none.
func Targets(args []string, namespace string) ([]evaluate.Target, error) {
	out, err := ParseTargets(args, namespace)
	if err == nil {
		err = CheckNames(out)
	}
	for i := range out {
		if namespace != "" && !strings.Contains(out[i].Name, "/") {
			out[i].Name = namespace + "/" + out[i].Name
		}
	}
	return out, err
}

// isTarget reports whether an argument is KIND/NAME. NAMESPACE/NAME is not.
func isTarget(arg string) bool {
	kind, _, slash := strings.Cut(arg, "/")
	return slash && targetKind(kind) != ""
}

// IsTargetKind reports whether a word is a kind of targets.
func IsTargetKind(s string) bool { return targetKind(s) != "" }

// targetKind returns the kind of targets for any name of it that kubectl accepts, "" for another word.
func targetKind(s string) string {
	kind, _ := evaluate.TargetKind(s)
	return strings.ToLower(kind)
}

// CompleteTargets completes targets in a shell: kinds, and then names from the cluster or the snapshot. "bundle a b" is
// completed too.
func CompleteTargets(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if kind, _, slash := strings.Cut(toComplete, "/"); slash && targetKind(kind) != "" {
		return CompleteNames(c, resource(kind), toComplete[:strings.LastIndexByte(toComplete, '/')+1])
	}
	if i := slices.IndexFunc(args, func(arg string) bool { return targetKind(arg) != "" }); i >= 0 &&
		!slices.ContainsFunc(args[i+1:], isTarget) {
		return CompleteNames(c, resource(args[i]), "")
	}
	return CompleteKinds(kinds)
}

// CompleteAny completes targets, and the names of other kinds.
func CompleteAny(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if kind, _, slash := strings.Cut(toComplete, "/"); slash && !IsTargetKind(kind) {
		return CompleteObjects(c, args, toComplete)
	}
	return CompleteTargets(c, args, toComplete)
}

// CompleteBundles completes bundle/NAME.
func CompleteBundles(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "/") || len(args) > 0 {
		return CompleteTargets(c, args, toComplete)
	}
	return CompleteKinds([]string{evaluate.TargetBundle})
}

// CompleteClusters completes the names of Clusters.
func CompleteClusters(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return CompleteNames(c, resource(evaluate.TargetCluster), "")
}

// resource is the name of a kind of targets that no kind of another API group has.
func resource(kind string) string {
	_, resource := evaluate.TargetKind(kind)
	return resource
}

// ClusterName returns the name in an argument that is NAME, cluster/NAME or cluster/NAMESPACE/NAME. namespace is that
// of --namespace. Its errors are usage errors.
func ClusterName(arg, namespace string) (string, error) {
	name := arg
	if kind, rest, ok := strings.Cut(arg, "/"); ok && targetKind(kind) == evaluate.TargetCluster {
		name = rest
	}
	if stated, _, ok := strings.Cut(name, "/"); ok {
		return name, sameNamespace(arg, stated, namespace)
	}
	return name, nil
}

// IsBundle reports whether a word names the kind Bundle.
func IsBundle(word string) bool { return targetKind(word) == evaluate.TargetBundle }

// Split separates the arguments that name objects of Fleet by their kind from all others: KIND/NAME of a deployed
// object, "KIND NAME ...", or one name without a kind. A kind that is similar to one of Fleet stays with the first,
// whose parser suggests the other. namespace is that of --namespace.
func Split(args []string, namespace string) (targets []string, others []Object, err error) {
	if len(args) == 1 && isName(args[0]) {
		return nil, []Object{{Namespace: namespace, Name: args[0]}}, nil
	}
	if len(args) > 0 && isName(args[0]) && NearKind(args[0]) == "" {
		args = KindNames(args)
	}
	inList := false // the argument is a name after a kind
	for _, arg := range args {
		kind, _, slash := strings.Cut(arg, "/")
		switch {
		case IsTargetKind(arg):
			inList = true
		case isTarget(arg), strings.Count(arg, "/") > 1: // no NAME, and no NAMESPACE/NAME
			inList = false
		case !slash && !inList && len(others) > 0:
			return nil, nil, cli.UsageError(fmt.Errorf("parsing argument %q: it must be KIND/NAME", arg))
		}
		namesTarget := IsTargetKind(kind) || NearKind(arg) != ""
		if inList || !slash || namesTarget {
			targets = append(targets, arg)
			continue
		}
		named, err := ParseObject(arg, namespace)
		if err != nil {
			return nil, nil, err
		}
		others = append(others, named)
	}
	return targets, others, nil
}

// isName reports whether an argument is a word that is no kind of targets.
func isName(arg string) bool { return arg != "" && !strings.Contains(arg, "/") && !IsTargetKind(arg) }

// Object is an object on the command line: KIND/NAME or KIND/NAMESPACE/NAME.
type Object = source.Named

// ParseObject parses an argument that names an object. namespace is that of --namespace, for an argument that states
// none. No part may be empty: an empty namespace, from a variable that is not set, would select all namespaces. Its
// errors are usage errors.
func ParseObject(arg, namespace string) (Object, error) {
	parts := strings.Split(arg, "/")
	switch {
	case slices.Contains(parts, ""):
	case len(parts) == 2:
		return Object{Kind: parts[0], Namespace: namespace, Name: parts[1]}, nil
	case len(parts) == 3:
		return Object{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, sameNamespace(arg, parts[1], namespace)
	}
	return Object{}, cli.UsageError(fmt.Errorf("parsing argument %q: it must be KIND/NAME or KIND/NAMESPACE/NAME",
		arg))
}

// ParseObjects parses arguments of the form KIND/NAME or KIND NAME, as ParseObject does.
func ParseObjects(args []string, namespace string) ([]Object, error) {
	var objects []Object
	for _, arg := range KindNames(args) {
		named, err := ParseObject(arg, namespace)
		if err != nil {
			return nil, err
		}
		objects = append(objects, named)
	}
	return objects, nil
}

// sameNamespace returns an error of usage if an argument states a namespace that is not that of --namespace.
func sameNamespace(arg, stated, namespace string) error {
	if namespace == "" || stated == namespace {
		return nil
	}
	err := fmt.Errorf("argument %q is in namespace %s, but --namespace is %s", arg, stated, namespace)
	return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: "Leave out --namespace, or the namespace in the argument."}
}

// KindNames returns the arguments as KIND/NAME. As in kubectl, "KIND NAME ..." is valid too.
func KindNames(args []string) []string {
	if len(args) < 2 || strings.Contains(args[0], "/") {
		return args
	}
	var out []string
	for _, name := range args[1:] {
		out = append(out, args[0]+"/"+name)
	}
	return out
}
