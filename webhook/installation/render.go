// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	jsonpatch "gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	// recordsRole is the role that reads release records, which are Secrets.
	recordsRole = Name + "-records"
	// certificatesRole is the role that makes certificates. It does not exist with cert-manager.
	certificatesRole = Name + "-certificates"
)

// copyManifests returns the manifests in a file system in memory, as kustomize needs them.
func copyManifests() (filesys.FileSystem, error) {
	memory := filesys.MakeEmptyDirInMemory()
	return memory, fs.WalkDir(manifests.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := manifests.Files.ReadFile(name)
		if err != nil {
			return err
		}
		return memory.WriteFile(name, data)
	})
}

// Render returns the objects of an installation in the order in which they are applied.
func Render(o Options) ([]*unstructured.Unstructured, error) {
	memory, err := copyManifests()
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	top, err := o.kustomization()
	if err == nil {
		err = memory.WriteFile("install/kustomization.yaml", top)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the kustomization: %w", err)
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(memory, "install")
	if err != nil {
		return nil, fmt.Errorf("rendering manifests: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		u, err := o.decode(r)
		if err != nil {
			return nil, fmt.Errorf("rendering manifests: %w", err)
		}
		out = append(out, o.scope(u)...)
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a.GetKind()), rank(b.GetKind())) })
	return out, nil
}

// renderAll returns all objects that an installation in a namespace may consist of, whatever its options.
func renderAll(namespace string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	seen := sets.Set[object.Key]{}
	for _, o := range []Options{
		{Namespace: namespace, Exact: true},
		{Namespace: namespace, Certificates: CertManager},
		{Namespace: namespace, ReleaseNamespaces: []string{namespace}},
	} {
		objects, err := Render(o)
		if err != nil {
			return nil, err
		}
		for _, u := range objects {
			if key := RefOf(u).Key(); !seen.Has(key) {
				seen.Insert(key)
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// kustomization returns a kustomization.yaml that combines the base with the components and patches of the options.
func (o Options) kustomization() ([]byte, error) {
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
	const container = "/spec/template/spec/containers/0/"
	var patch []jsonpatch.Operation
	if o.Image != "" {
		patch = append(patch, jsonpatch.NewOperation("replace", container+"image", o.Image))
	}
	if o.GuardDefault != "" {
		patch = append(patch, jsonpatch.NewOperation("add", container+"args/-", "--guard-default="+string(o.GuardDefault)))
	}
	if len(o.ReleaseNamespaces) > 0 {
		patch = append(patch, jsonpatch.NewOperation("add", container+"args/-", "--release-namespaces="+strings.Join(o.ReleaseNamespaces, ",")))
	}
	if patch != nil {
		text, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		k.Patches = []types.Patch{{Target: &types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: deploymentKind.Kind}}}, Patch: string(text)}}
	}
	return json.Marshal(k)
}

// decode returns a rendered object with the namespace of the options, also where kustomize does not replace it: in the
// selectors of webhooks, in the names of a certificate, and in cert-manager's annotation.
func (o Options) decode(r *resource.Resource) (*unstructured.Unstructured, error) {
	data, err := r.MarshalJSON()
	if err != nil {
		return nil, err
	}
	namespace, err := json.Marshal(cmp.Or(o.Namespace, Namespace))
	if err != nil {
		return nil, err
	}
	data = bytes.ReplaceAll(data, []byte(Namespace), bytes.Trim(namespace, `"`))
	u := &unstructured.Unstructured{}
	err = u.UnmarshalJSON(data) // which decodes integers as int64, like the responses of a cluster
	return u, err
}

// scope returns the objects for a rendered object: the binding of recordsRole is replaced by one in each release
// namespace, if the options have any.
func (o Options) scope(u *unstructured.Unstructured) []*unstructured.Unstructured {
	if len(o.ReleaseNamespaces) == 0 || u.GetKind() != bindingKind.Kind || u.GetName() != recordsRole {
		return []*unstructured.Unstructured{u}
	}
	var out []*unstructured.Unstructured
	for _, namespace := range o.releaseNamespaces() {
		b := u.DeepCopy()
		b.SetKind("RoleBinding")
		b.SetNamespace(namespace)
		out = append(out, b)
	}
	return out
}

// rank orders the kinds of an installation: dependencies first, and the webhook configurations last. A kind that is not
// listed comes first.
func rank(kind string) int {
	order := []string{"Namespace", "ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "NetworkPolicy", "Service",
		"PodDisruptionBudget", "Issuer", "Certificate", "Deployment", mutatingKind.Kind, validatingKind.Kind}
	return slices.Index(order, kind)
}
