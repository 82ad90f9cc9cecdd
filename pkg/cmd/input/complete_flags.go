// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// CompleteFlags completes the values of the flags that name parts of a cluster or of the kubeconfig, for a command and all
// commands below it.
func CompleteFlags(c *cobra.Command) {
	for flag, names := range map[string]cobra.CompletionFunc{
		"namespace": namespaces,
		"context":   fromKubeconfig(func(k *api.Config) []string { return slices.Sorted(maps.Keys(k.Contexts)) }),
		"contexts":  fromKubeconfig(func(k *api.Config) []string { return slices.Sorted(maps.Keys(k.Contexts)) }),
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
			of, err := listNames(ctx, src, kind+"s.fleet.cattle.io", "", func(namespace, _ string) string {
				return namespace
			})
			if err != nil {
				return nil, err
			}
			for _, ns := range of {
				found[ns] = plain.MatchString(ns)
			}
		}
		if len(found) == 0 {
			return listNames(ctx, src, "namespaces", "", func(_, name string) string { return name })
		}
		return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(ns string) bool { return !found[ns] }), nil
	}), word
}

// fromKubeconfig offers names in the kubeconfig. In a listNames, it completes the last one.
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
