// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helm "helm.sh/helm/v4/pkg/release/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Chart is a chart of this project. A cluster has one installation of it.
type Chart struct {
	// Dir is its directory in the package manifests.
	Dir string
	// Name is the name of the release, of the Deployment, and the value of the inventory label.
	Name string
	// Kinds are the kinds of its objects, in the order in which they are removed.
	Kinds []schema.GroupVersionKind
	// Names are the names of its objects.
	Names []string
}

// Selector selects the objects of an installation.
func (c Chart) Selector() string { return NameLabel + "=" + c.Name }

// Common are the values that every chart has. A zero value keeps the value of the chart.
type Common struct {
	Image    *Image `json:"image,omitempty"`
	Replicas int    `json:"replicas,omitempty"`
	// APIServers are the addresses of the API servers, for the NetworkPolicy; none means all.
	APIServers []string `json:"apiServers,omitempty"`
}

// Image names an image. The chart takes the tag of its version if both Tag and Digest are empty.
type Image struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	Digest     string `json:"digest"`
}

// ParseImage splits the reference of an image, such as example.com/fleetdoctor:v1 or fleetdoctor@sha256:….
func ParseImage(reference string) *Image {
	name, digest, _ := strings.Cut(reference, "@")
	repository, tag := name, ""
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") { // the colon before is that of a port
		repository, tag = name[:i], name[i+1:]
	}
	return &Image{Repository: repository, Tag: tag, Digest: digest}
}

// Replicas is the number of replicas in the charts.
const Replicas = 2

// repository has the images of the program.
const repository = "fleetdoctor/kubectl-fleetdoctor"

// described is the end of a version that git describe or the go command makes of a commit without a tag, or of a
// changed tree.
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+|[-.][0-9]{14}-[0-9a-f]{12})?(-dirty|\+dirty)?$`)

// ImageOf returns the image of a version of the program; ok is false if no release has that version, and so no image
// exists.
func ImageOf(version string) (image string, ok bool) {
	number, tagged := strings.CutPrefix(version, "v")
	if _, err := semver.StrictNewVersion(number); !tagged || err != nil || described.FindString(version) != "" {
		return "", false
	}
	// A tag cannot contain a plus sign.
	return repository + ":" + strings.ReplaceAll(version, "+", "_"), true
}

// encode returns values, a map or a pointer to a struct, in the form that Helm reads from a file.
func encode(v any) (map[string]any, error) {
	if values, ok := v.(map[string]any); ok {
		return values, nil
	}
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v)
	if err != nil {
		return nil, fmt.Errorf("encoding the values: %w", err)
	}
	return values, nil
}

// load returns the embedded chart.
func (c Chart) load() (*chart.Chart, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(manifests.Charts, c.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := manifests.Charts.ReadFile(name)
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(name, c.Dir+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	return loader.LoadFiles(files)
}

// Check returns an error that names the values that the schema of the chart refuses.
func (c Chart) Check(values map[string]any) error {
	loaded, err := c.load()
	if err != nil {
		return err
	}
	all, err := util.CoalesceValues(loaded, values)
	if err != nil {
		return fmt.Errorf("merging the values: %w", err)
	}
	return util.ValidateAgainstSchema(loaded, all)
}

// Render returns the objects of an installation in the order in which they are applied: the Namespace, and those of the
// chart with its values, a map or a pointer to a struct. It needs no cluster.
func (c Chart) Render(namespace string, v any) ([]*unstructured.Unstructured, error) {
	values, err := encode(v)
	if err != nil {
		return nil, err
	}
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.ReleaseName, install.Namespace, install.DryRunStrategy = c.Name, namespace, action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.28.0", Major: "1", Minor: "28"} // the minimum of the charts
	r, err := install.Run(loaded, values)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart: %w", err)
	}
	rendered, _ := r.(*helm.Release)
	objects, err := manifestOf(rendered)
	return append([]*unstructured.Unstructured{namespaceObject(namespace)}, objects...), err
}

// namespaceObject is the Namespace of an installation. It is not in the charts, because Helm needs it for the release.
// It has the same labels for every chart.
func namespaceObject(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(NamespaceKind)
	u.SetName(name)
	u.SetLabels(map[string]string{
		"pod-security.kubernetes.io/audit":   "restricted",
		"pod-security.kubernetes.io/enforce": "restricted",
		"pod-security.kubernetes.io/warn":    "restricted",
	})
	return u
}

// manifestOf returns the objects in the manifest of a release.
func manifestOf(r *helm.Release) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(r.Manifest), len(r.Manifest)); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(u); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("reading the manifest of release %s: %w", r.Name, err)
		case u.Object != nil:
			out = append(out, u)
		}
	}
}

// reservedNamespaces belong to the cluster or to Fleet. The API server does not call the webhook for objects in them,
// except in default.
var reservedNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system",
	"fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// AllowedNamespace reports whether a chart may be installed into a namespace: not into one of the cluster or of Fleet,
// which also has one for each cluster.
func AllowedNamespace(namespace string) bool {
	isFleets := strings.HasPrefix(namespace, "cattle-fleet-") || strings.HasPrefix(namespace, "cluster-fleet-")
	return !isFleets && !slices.Contains(reservedNamespaces, namespace)
}

// Installation is what a cluster has of a chart.
type Installation struct {
	// Namespace is the namespace of the installation, or the one for it.
	Namespace string
	// Named is the namespace that the ClusterRoleBinding of the chart names, which only an administrator can write; ""
	// if it does not exist.
	Named string
	// Release is the name of the Helm release, "" without one.
	Release string
	// Fleet is the Helm release ("namespace/name") with which Fleet deployed it, "" if Fleet did not.
	Fleet string
	// Deployment is nil if it does not exist.
	Deployment *unstructured.Unstructured
}

// Find finds the installation of a chart. Without a namespace, the ClusterRoleBinding names it, and otherwise it is the
// default one. Objects in other namespaces decide nothing, because a tenant can write them.
func (c *Cluster) Find(ctx context.Context, chart Chart, namespace string) (*Installation, error) {
	in := &Installation{Namespace: cmp.Or(namespace, Namespace)}
	binding, err := c.Get(ctx, ClusterRoleBindingKind, "", chart.Name)
	if err != nil {
		return nil, err
	}
	isChart := binding != nil && binding.GetLabels()[NameLabel] == chart.Name
	if isChart && binding.GetDeletionTimestamp() == nil {
		in.Named = accountNamespace(binding)
		in.Namespace = cmp.Or(namespace, in.Named, Namespace)
	}
	if in.Named == in.Namespace {
		in.addRelease(binding)
	}
	in.Deployment, err = c.Get(ctx, DeploymentKind, in.Namespace, chart.Name)
	if in.Deployment != nil {
		in.addRelease(in.Deployment)
	}
	return in, err
}

// accountNamespace returns the namespace of the account to which a binding of a chart grants rights, "" for an object
// that grants none. The account can have any name.
func accountNamespace(o *unstructured.Unstructured) string {
	for _, s := range Decode[rbacv1.ClusterRoleBinding](o).Subjects {
		if s.Kind == rbacv1.ServiceAccountKind {
			return s.Namespace
		}
	}
	return ""
}

// namespacesIn returns the namespaces that an object names: that of the account to which it grants rights, that of the
// Service to which it sends requests, and that of its Helm release.
func namespacesIn(o *unstructured.Unstructured) []string {
	out := []string{o.GetAnnotations()[fleet.ReleaseNamespaceAnnotation], accountNamespace(o)}
	for _, w := range Decode[admissionregistrationv1.ValidatingWebhookConfiguration](o).Webhooks {
		if s := w.ClientConfig.Service; s != nil {
			out = append(out, s.Namespace)
		}
	}
	return slices.DeleteFunc(out, func(n string) bool { return n == "" })
}

// addRelease adds what an object says about the Helm release of its installation.
func (in *Installation) addRelease(o *unstructured.Unstructured) {
	name := o.GetAnnotations()[fleet.ReleaseNameAnnotation]
	in.Release = cmp.Or(in.Release, name)
	if in.Fleet == "" && o.GetLabels()[fleet.HashLabel] != "" {
		in.Fleet = o.GetAnnotations()[fleet.ReleaseNamespaceAnnotation] + "/" + name
	}
}

// Objects returns the objects of the installation in a namespace that exist, in the order in which they are removed.
// The Namespace is not one of them: others may have objects in it.
func (c *Cluster) Objects(ctx context.Context, chart Chart, namespace string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range chart.Kinds {
		searched := namespace
		if kind == RoleBindingKind { // a binding is in the namespace to which it gives access
			searched = metav1.NamespaceAll
		}
		for o, err := range c.List(ctx, kind, searched, metav1.ListOptions{LabelSelector: chart.Selector()}) {
			switch {
			case apierrors.IsNotFound(err): // a kind of an optional component, such as cert-manager
			case err != nil:
				return nil, err
			case chart.has(o, namespace) && o.GetDeletionTimestamp() == nil:
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// has reports whether an object with the inventory label belongs to the installation in a namespace. Objects of other
// scope name the namespace, except for ClusterRoles that no Helm release made.
func (c Chart) has(o *unstructured.Unstructured, namespace string) bool {
	if !slices.Contains(c.Names, o.GetName()) {
		return false
	}
	named := namespacesIn(o)
	isUnnamed := o.GetNamespace() == "" && len(named) == 0
	return o.GetNamespace() == namespace || isUnnamed || slices.Contains(named, namespace)
}

// Delete deletes objects in order, as long as they are the objects that were read, and calls report for each. It skips
// those that no longer exist, and tries each of them, whatever errors the others had. A dry run is one of the server,
// and deletes nothing.
func (c *Cluster) Delete(ctx context.Context, targets []*unstructured.Unstructured, dryRun bool,
	report func(object.Ref),
) error {
	var all []error
	for _, o := range targets {
		options := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
			Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))}
		if dryRun {
			options.DryRun = []string{metav1.DryRunAll}
		}
		err := c.Resource(o.GroupVersionKind(), o.GetNamespace()).Delete(ctx, o.GetName(), options)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			all = append(all, fmt.Errorf("deleting %s: %w", RefOf(o).Key(), err))
		default:
			report(RefOf(o))
		}
	}
	return errors.Join(all...)
}

// DeleteOutdated deletes the webhook configurations with more webhooks than the chart now has. Another field manager
// owns their caBundle, so Helm would leave incomplete webhooks.
func (c *Cluster) DeleteOutdated(ctx context.Context, before, desired []*unstructured.Unstructured) error {
	webhooks := func(o *unstructured.Unstructured) int {
		list, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		return len(list)
	}
	var outdated []*unstructured.Unstructured
	for _, old := range before {
		for _, next := range desired {
			isSame := RefOf(old).Key() == RefOf(next).Key()
			if !isSame || webhooks(old) <= webhooks(next) {
				continue
			}
			live, err := c.Get(ctx, old.GroupVersionKind(), "", old.GetName())
			if err != nil {
				return err
			}
			if live != nil {
				outdated = append(outdated, live)
			}
		}
	}
	return c.Delete(ctx, outdated, false, func(object.Ref) {})
}
