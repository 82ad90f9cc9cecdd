// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// recordsRole is the role that reads release records, which are Secrets.
const recordsRole = Name + "-records"

// Render returns the objects of an installation in the order in which they are applied. files are the kustomizations of package manifests.
func Render(files fs.FS, o Options) ([]*unstructured.Unstructured, error) {
	memory := filesys.MakeEmptyDirInMemory()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return memory.WriteFile(name, data)
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	top, err := yaml.Marshal(o.kustomization())
	if err != nil {
		return nil, fmt.Errorf("writing the kustomization: %w", err)
	}
	if err := memory.WriteFile("install/kustomization.yaml", top); err != nil {
		return nil, fmt.Errorf("writing the kustomization: %w", err)
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(memory, "install")
	if err != nil {
		return nil, fmt.Errorf("rendering manifests: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("rendering manifests: %w", err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil { // which decodes integers as int64, like the responses of a cluster
			return nil, fmt.Errorf("rendering manifests: %w", err)
		}
		out = append(out, u)
	}
	if out, err = o.adjust(out); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a.GetKind()), rank(b.GetKind())) })
	return out, nil
}

// RenderAll returns all objects that an installation in a namespace may consist of, whatever its options.
func RenderAll(files fs.FS, namespace string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, o := range []Options{
		{Namespace: namespace, Exact: true},
		{Namespace: namespace, Certificates: CertManager},
		{Namespace: namespace, ReleaseNamespaces: []string{namespace}},
	} {
		objs, err := Render(files, o)
		if err != nil {
			return nil, err
		}
		for _, u := range objs {
			if k := RefOf(u).Key().String(); !seen[k] {
				seen[k] = true
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// kustomization combines the base with the components of the options.
func (o Options) kustomization() types.Kustomization {
	k := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{"../base"},
	}
	if o.Certificates == CertManager {
		k.Components = append(k.Components, "../components/cert-manager")
	}
	if o.Exact {
		k.Components = append(k.Components, "../components/exact")
	}
	if o.Replicas > 0 {
		k.Replicas = []types.Replica{{Name: Name, Count: int64(o.Replicas)}}
	}
	return k
}

// adjust makes the changes that kustomize does not support: those within a text or a list, and one RoleBinding for each namespace.
func (o Options) adjust(objs []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	for _, u := range objs {
		if u.GetKind() == deploymentKind.Kind {
			if err := o.deployment(u); err != nil {
				return nil, err
			}
		}
		if o.Namespace != "" && o.Namespace != Namespace {
			u.Object, _ = replaceNamespace(u.Object, o.Namespace).(map[string]any)
		}
	}
	if len(o.ReleaseNamespaces) == 0 {
		return objs, nil
	}
	return o.scope(objs), nil
}

// replaceNamespace replaces the namespace of the manifests in a value, also where kustomize does not find it: in the selectors of webhooks, in
// the names of a certificate, and in cert-manager's annotation.
func replaceNamespace(v any, namespace string) any {
	switch v := v.(type) {
	case string:
		switch {
		case v == Namespace:
			return namespace
		case strings.HasPrefix(v, Namespace+"/"):
			return namespace + strings.TrimPrefix(v, Namespace)
		}
		return strings.Replace(v, "."+Namespace+".svc", "."+namespace+".svc", 1)
	case []any:
		for i := range v {
			v[i] = replaceNamespace(v[i], namespace)
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = replaceNamespace(v[k], namespace)
		}
		return v
	}
	return v
}

// deployment sets image and arguments of the Deployment.
func (o Options) deployment(u *unstructured.Unstructured) error {
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return errors.New("reading manifests: the Deployment has no containers")
	}
	c, ok := containers[0].(map[string]any)
	if !ok {
		return errors.New("reading manifests: the container of the Deployment is not a map")
	}
	if o.Image != "" {
		c["image"] = o.Image
	}
	args, _ := c["args"].([]any)
	if o.GuardDefault != "" {
		args = setArg(args, "--guard-default", string(o.GuardDefault))
	}
	if len(o.ReleaseNamespaces) > 0 {
		args = setArg(args, "--release-namespaces", strings.Join(o.ReleaseNamespaces, ","))
	}
	c["args"] = args
	return unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers")
}

// setArg sets the value of a flag, in place if the flag exists.
func setArg(args []any, flag, value string) []any {
	for i, a := range args {
		if s, ok := a.(string); ok && strings.HasPrefix(s, flag+"=") {
			args[i] = flag + "=" + value
			return args
		}
	}
	return append(args, flag+"="+value)
}

// scope binds recordsRole in the release namespaces, in place of all namespaces.
func (o Options) scope(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, u := range objs {
		if u.GetKind() != "ClusterRoleBinding" || u.GetName() != recordsRole {
			out = append(out, u)
			continue
		}
		for _, namespace := range slices.Compact(slices.Sorted(slices.Values(o.ReleaseNamespaces))) {
			b := u.DeepCopy()
			b.SetKind("RoleBinding")
			b.SetNamespace(namespace)
			out = append(out, b)
		}
	}
	return out
}

// rank orders the kinds of an installation: dependencies first, and the webhook configurations last.
func rank(kind string) int {
	order := []string{"Namespace", "ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "NetworkPolicy", "Service",
		"PodDisruptionBudget", "Issuer", "Certificate", "Deployment", mutatingKind.Kind, validatingKind.Kind}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return slices.Index(order, "Deployment") // of an unlisted kind: before the webhook configurations
}
