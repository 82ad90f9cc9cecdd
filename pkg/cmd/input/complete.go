// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// completionTime is the time after which a completion offers nothing. A user waits for it at the prompt.
const completionTime = 3 * time.Second

// The directives to the shell. A kind is followed by a name, without a blank.
const (
	word = cobra.ShellCompDirectiveNoFileComp
	kind = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
)

// CompleteKinds offers the kinds, each with a slash.
func CompleteKinds(kinds []string) ([]string, cobra.ShellCompDirective) {
	offered := make([]string, len(kinds))
	for i, k := range kinds {
		offered[i] = k + "/"
	}
	return offered, kind
}

// CompleteNames offers the names of the objects of a kind, each after a prefix. Namespaced objects are those of
// --namespace, or of all namespaces.
func CompleteNames(c *cobra.Command, kind, prefix string) ([]string, cobra.ShellCompDirective) {
	return readNames(c, func(ctx context.Context, in *Flags, src source.Source) ([]string, error) {
		namespace := *in.Config.Namespace
		_, name, namespaced := strings.Cut(prefix, "/")
		if ns, _, ok := strings.Cut(name, "/"); namespaced && ok {
			namespace = ns
		}
		return listNames(ctx, src, kind, namespace, func(_, name string) string { return prefix + name })
	}), word
}

// CompleteObjects completes KIND/NAME and KIND/NAMESPACE/NAME for the kinds that the source has.
func CompleteObjects(c *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if named, _, slash := strings.Cut(toComplete, "/"); slash {
		return CompleteNames(c, named, toComplete[:strings.LastIndexByte(toComplete, '/')+1])
	}
	return CompleteKinds(readNames(c, func(ctx context.Context, _ *Flags, src source.Source) ([]string, error) {
		kinds, err := src.Kinds(ctx)
		if err != nil {
			return nil, err
		}
		known := map[string]bool{}
		for _, k := range kinds.All() {
			if plain.MatchString(k.Kind) {
				known[strings.ToLower(k.Kind)] = true
			}
		}
		return slices.Sorted(maps.Keys(known)), nil
	}))
}

var (
	// plain matches names without characters that a shell or a terminal would interpret. A server or a snapshot may
	// have any text as a name.
	plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]*$`)
	// plainPath also matches slashes: names in a kubeconfig may have them, such as
	// "arn:aws:eks:eu-west-1:1234:cluster/prod".
	plainPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/-]*$`)
)

// listNames returns the sorted names of the objects of a kind, formatted by show.
func listNames(ctx context.Context, src source.Source, word, namespace string,
	show func(namespace, name string) string) ([]string, error) {
	kinds, err := src.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, k := range kinds.All() {
		if !k.Called(word) {
			continue
		}
		q := source.Query{Kind: k.GroupVersionKind, MetadataOnly: true}
		if namespace != "" && k.Namespaced {
			q.Namespaces = []string{namespace}
		}
		_, err := src.List(ctx, q, func(o source.Object) error {
			if m, err := o.ReadMeta(); err == nil && plain.MatchString(m.Metadata.Name) {
				found[show(m.Metadata.Namespace, m.Metadata.Name)] = true
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found)), nil
}

// readNames opens the source that the flags of a command name, and returns the result of use. It is empty if use fails
// or takes too long.
func readNames(c *cobra.Command, use func(context.Context, *Flags, source.Source) ([]string, error)) []string {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	in := flagsOf(c)
	if in == nil || slices.ContainsFunc(in.Snapshots, unreadable) {
		return nil
	}
	found := make(chan []string, 1)
	go func() {
		var names []string
		if src, _, err := in.Open(ctx); err == nil {
			if names, err = use(ctx, in, src); err != nil {
				names = nil // a completion prints no error
			}
		}
		found <- names
	}()
	select {
	case names := <-found:
		return names
	case <-ctx.Done(): // a credential plugin or a slow disk may ignore the context
		return nil
	}
}

// unreadable reports whether a snapshot cannot be read for a completion: standard input is the terminal, and a
// pipe can be read only once.
func unreadable(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.Mode().IsRegular() && !info.IsDir()
}

// flagsOf returns the flags for the source with the values that the command line has; nil if the command reads no
// source.
func flagsOf(c *cobra.Command) *Flags {
	if c.Flags().Lookup("kubeconfig") == nil {
		return nil
	}
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
	in := New(cli.Environment{Streams: streams, Now: time.Now})
	fs := pflag.NewFlagSet("completion", pflag.ContinueOnError)
	in.AddFlags(fs, "")
	c.Flags().Visit(func(f *pflag.Flag) {
		if !Connects(fs, f) { // --cluster of audit has another meaning
			return
		}
		for _, value := range Values(f) {
			_ = fs.Set(f.Name, value) // it was parsed before
		}
	})
	return in
}

// Values returns the values of a flag, which may be a list.
func Values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// CompleteFlags completes the values of the flags that name parts of a cluster or of the kubeconfig, for a command and
// all commands below it.
func CompleteFlags(c *cobra.Command) {
	contexts := fromKubeconfig(func(k *api.Config) []string { return slices.Sorted(maps.Keys(k.Contexts)) })
	for flag, names := range map[string]cobra.CompletionFunc{
		"namespace": namespaces,
		"context":   contexts,
		"contexts":  contexts,
		"cluster":   fromKubeconfig(func(k *api.Config) []string { return slices.Sorted(maps.Keys(k.Clusters)) }),
		"user":      fromKubeconfig(func(k *api.Config) []string { return slices.Sorted(maps.Keys(k.AuthInfos)) }),
	} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, names) // the flag exists; a verb may have its own completion
		}
	}
	for _, child := range c.Commands() {
		CompleteFlags(child)
	}
}

// namespaces offers the namespaces with objects of Fleet, because a verb refuses others. Without such objects, it
// offers all namespaces.
func namespaces(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return readNames(c, func(ctx context.Context, _ *Flags, src source.Source) ([]string, error) {
		found := map[string]bool{}
		for _, kind := range []string{evaluate.TargetGitRepo, evaluate.TargetHelmOp, evaluate.TargetBundle,
			evaluate.TargetCluster} {
			names, err := listNames(ctx, src, kind+"s.fleet.cattle.io", "", func(namespace, _ string) string {
				return namespace
			})
			if err != nil {
				return nil, err
			}
			for _, ns := range names {
				found[ns] = plain.MatchString(ns)
			}
		}
		if len(found) == 0 {
			return listNames(ctx, src, "namespaces", "", func(_, name string) string { return name })
		}
		return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(ns string) bool { return !found[ns] }), nil
	}), word
}

// fromKubeconfig offers names in the kubeconfig. In a list, it completes the last one.
func fromKubeconfig(names func(*api.Config) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		in := flagsOf(c)
		if in == nil {
			return nil, word
		}
		*in.Config.Context = "" // it may be the word that is being completed
		config, err := in.Config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, word
		}
		before := toComplete[:strings.LastIndexByte(toComplete, ',')+1]
		var offered []string
		for _, name := range names(&config) {
			if plainPath.MatchString(name) {
				offered = append(offered, before+name)
			}
		}
		return offered, word
	}
}
