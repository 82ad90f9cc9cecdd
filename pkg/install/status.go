// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Facts are the data of an installation that were read. Data that could not be read have a reason, and never count as
// absent.
type Facts struct {
	*Installation
	TakenAt time.Time
	// HelmRelease is the last revision of the Helm release, nil without one, or if it could not be read for the reason.
	HelmRelease       *helm.Release
	HelmReleaseReason string
}

// Reading is the result of reading an object: nil if it does not exist, or if it could not be read for the Reason.
type Reading struct {
	Object *unstructured.Unstructured
	Reason string
}

// Read reads an object.
func (c *Cluster) Read(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) Reading {
	o, err := c.Get(ctx, kind, namespace, name)
	return Reading{o, ReasonOf(err)}
}

// ReasonOf is the reason why an object could not be read, "" without an error.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// ReadFacts reads the Helm release of an installation.
func (c *Cluster) ReadFacts(ours Chart, in *Installation) Facts {
	f := Facts{Installation: in}
	h, err := c.Helm(ours, in.Namespace, in.Release)
	if f.HelmReleaseReason = ReasonOf(err); err == nil {
		f.HelmRelease = h.Last
	}
	return f
}

// APIVersion is the version of the printed documents.
const APIVersion = "fleetdoctor.io/v1alpha1"

// State is the result of a check.
type State string

// The states, from the best to the worst.
const (
	OK State = "OK"
	// Note is the state of something that may be intended.
	Note State = "Note"
	// Unknown is the state of something that could not be read.
	Unknown State = "Unknown"
	Wrong   State = "Wrong"
)

// Status is the part of a status that every chart has.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the reads (RFC 3339).
	TakenAt string `json:"takenAt"`
	// Namespace is the namespace of the installation.
	Namespace string `json:"namespace"`
	// State is the worst state of the checks: OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Installed is false if no object of the installation exists by which it is found.
	Installed bool `json:"installed"`
	// Image is the image of the Deployment.
	Image string `json:"image,omitempty"`
	// Release is the Helm release ("namespace/name") with which Fleet deployed it, absent if Fleet did not.
	Release string `json:"release,omitempty"`
	// HelmRelease is the Helm release ("namespace/name") whose record exists, whoever made it; absent without one.
	HelmRelease string `json:"helmRelease,omitempty"`
	// Checks are the results in the order of the checks. A check can have several results.
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	// Name is the name of the check, such as deployment or release.
	Name string `json:"name"`
	// State is OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Message and Details are text for people.
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
}

// NewStatus makes the status of an installation with the checks of every chart. noun names it. If it was not found, its
// only check says so.
func NewStatus(f *Facts, chart Chart, kind, noun string) Status {
	s := Status{APIVersion: APIVersion, Kind: kind, TakenAt: f.TakenAt.UTC().Format(time.RFC3339),
		Namespace: f.Namespace, State: OK, Release: f.Fleet, Installed: f.Named != "" || f.Deployment != nil}
	if !s.Installed {
		s.Add("installed", Wrong, noun+" is not installed")
		return s
	}
	if r := f.HelmRelease; r != nil {
		s.HelmRelease = r.Namespace + "/" + r.Name
	}
	for _, c := range Decode[appsv1.Deployment](f.Deployment).Spec.Template.Spec.Containers {
		s.Image = c.Image
	}
	s.checkRelease(f)
	s.checkDeployment(f.Deployment, chart)
	return s
}

// Add adds the result of a check.
func (s *Status) Add(name string, state State, message string, details ...string) {
	s.Checks = append(s.Checks, Check{name, state, message, details})
	order := []State{OK, Note, Unknown, Wrong}
	if slices.Index(order, state) > slices.Index(order, s.State) {
		s.State = state
	}
}

func (s *Status) checkRelease(f *Facts) {
	r := f.HelmRelease
	switch {
	case f.HelmReleaseReason != "":
		s.Add("release", Unknown, "the Helm release could not be read: "+f.HelmReleaseReason)
	case r == nil:
		s.Add("release", Note, "there is no Helm release")
	case r.Info.Status != common.StatusDeployed:
		s.Add("release", Wrong, fmt.Sprintf("revision %d is %s", r.Version, r.Info.Status), r.Info.Description)
	default:
		s.Add("release", OK, fmt.Sprintf("revision %d is deployed", r.Version))
	}
}

// checkDeployment checks whether the Deployment runs its newest revision with all its replicas, with a message of
// kstatus.
func (s *Status) checkDeployment(deployment *unstructured.Unstructured, chart Chart) {
	if deployment == nil {
		s.Add("deployment", Wrong, "Deployment "+chart.Name+" does not exist")
		return
	}
	why := "To see why: kubectl describe pods -n " + s.Namespace + " -l " + chart.Selector()
	replicas, isStated, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	result, err := status.Compute(deployment)
	switch {
	case isStated && replicas == 0:
		s.Add("deployment", Wrong, "it is scaled to 0")
	case err != nil:
		s.Add("deployment", Wrong, err.Error())
	case result.Status != status.CurrentStatus:
		s.Add("deployment", Wrong, result.Message, why)
	default:
		s.Add("deployment", OK, result.Message)
	}
}

// Remedy names what corrects the objects of an installation: a command, unless Fleet deployed them.
func (s *Status) Remedy(command string) string {
	if s.Release != "" {
		return "the next deploy by Fleet"
	}
	return "`" + command + "`"
}

// Count is a number with a noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxHistory is the number of revisions that are kept, as with the command helm.
const maxHistory = 10

// serverValidates is true because every server that is supported validates the fields of objects itself. Helm would
// only find that out, and would decode the schemas of all kinds of a group for each object.
const serverValidates = true

// Helm runs Helm's actions for the release of a chart.
type Helm struct {
	*action.Configuration
	Chart           Chart
	namespace, name string
	// Last is the last revision, nil if there is none.
	Last *helm.Release
}

// Helm reads the last revision of a release of a chart. An empty name is that of an installation by this program.
func (c *Cluster) Helm(ours Chart, namespace, name string) (*Helm, error) {
	// The field manager of the command helm: with another one, helm upgrade and helm rollback would find conflicts.
	kube.ManagedFieldsManager = "helm"
	h := &Helm{Chart: ours, namespace: namespace, name: cmp.Or(name, ours.Name)}
	h.Configuration = action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := h.Init(c.Getter, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("preparing Helm: %w", err)
	}
	last, err := h.Releases.Last(h.name)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, fmt.Errorf("reading release %s/%s: %w", namespace, h.name, err)
	}
	h.Last, _ = last.(*helm.Release)
	return h, nil
}

// Manifest returns the objects of the last revision, none if there is none.
func (h *Helm) Manifest() ([]*unstructured.Unstructured, error) {
	if h.Last == nil {
		return nil, nil
	}
	return manifestOf(h.Last)
}

// Installed reports whether the release is installed, so that its values are known.
func (h *Helm) Installed() bool {
	return h.Last != nil && h.Last.Info.Status != common.StatusUninstalled
}

// HasForeignImage reports whether the installed release has an image that is not one of the program's own.
func (h *Helm) HasForeignImage() bool {
	if !h.Installed() {
		return false
	}
	var image string
	switch v := h.Last.Config["image"].(type) {
	case string: // of the former chart
		image = ParseImage(v).Repository
	case map[string]any:
		image, _ = v["repository"].(string)
	}
	return image != "" && image != repository
}

// Install installs the chart with its values, or upgrades the release to it. It returns the warnings of the chart. A
// dry run has Helm check the change with the server, and writes nothing. A time limit above 0 waits until the objects
// are ready.
func (h *Helm) Install(ctx context.Context, values map[string]any, dryRun bool, limit time.Duration) (warnings []string,
	err error) {
	c, err := h.Chart.load()
	if err != nil {
		return nil, err
	}
	strategy, wait := action.DryRunNone, kube.HookOnlyStrategy
	if dryRun {
		strategy = action.DryRunServer
	}
	if limit > 0 {
		wait = kube.StatusWatcherStrategy
	}
	if !h.Installed() {
		install := action.NewInstall(h.Configuration)
		install.ReleaseName, install.Namespace, install.Replace = h.name, h.namespace, true
		install.DryRunStrategy, install.WaitStrategy, install.Timeout = strategy, wait, limit
		install.ForceConflicts, install.DisableOpenAPIValidation = true, serverValidates
		r, err := install.RunWithContext(ctx, c, values)
		return warningsIn(r), err
	}
	upgrade := action.NewUpgrade(h.Configuration)
	upgrade.Namespace, upgrade.MaxHistory, upgrade.ResetValues = h.namespace, maxHistory, true
	upgrade.DryRunStrategy, upgrade.WaitStrategy, upgrade.Timeout = strategy, wait, limit
	upgrade.ForceConflicts, upgrade.DisableOpenAPIValidation = true, serverValidates
	r, err := upgrade.RunWithContext(ctx, h.name, c, values)
	return warningsIn(r), err
}

// warningsIn returns the warnings in the notes of a release.
func warningsIn(r release.Releaser) []string {
	var out []string
	if made, ok := r.(*helm.Release); ok && made != nil {
		for line := range strings.Lines(made.Info.Notes) {
			if strings.HasPrefix(line, "Warning: ") {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	return out
}

// Uninstall removes the release. Helm deletes webhook configurations first, and keeps objects that have its annotation
// for that. Its error does not say why an object could not be deleted: delete what is left to know it.
func (h *Helm) Uninstall() error {
	uninstall := action.NewUninstall(h.Configuration)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err := uninstall.Run(h.name)
	return err
}

// CreateNamespace creates the namespace of an installation if it does not exist.
func (c *Cluster) CreateNamespace(ctx context.Context, name string) error {
	_, err := c.Resource(NamespaceKind, "").Create(ctx, namespaceObject(name), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// Without returns the objects that are not among the others.
func Without(objects, others []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		isSame := func(other *unstructured.Unstructured) bool { return RefOf(other).Key() == RefOf(o).Key() }
		return slices.ContainsFunc(others, isSame)
	})
}

// Given reports whether the command line has a flag.
type Given func(flag string) bool

// Values returns the values of the next revision: those of flags, then those that are set by their names, then those of
// the installed release. A value that none of them has is that of the chart. kept describes the installed ones that
// differ from those of the chart, as YAML. A flag replaces a whole list or map, and a value that is set is merged.
func (h *Helm) Values(flags, set map[string]any) (values map[string]any, kept []string, err error) {
	c, err := h.Chart.load()
	if err != nil {
		return nil, nil, err
	}
	known, err := propertiesOf(c)
	if err != nil {
		return nil, nil, err
	}
	values = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(h.installedValues())) {
		value := h.Last.Config[name]
		_, isFlag := flags[name]
		_, isSet := set[name]
		switch {
		case !known[name]:
			kept = append(kept, "removed "+name+": "+yamlOf(name, value))
		case name == imageKey || !isFlag:
			values[name] = value
			if !isFlag && !isSet && yamlOf(name, value) != yamlOf(name, c.Values[name]) {
				kept = append(kept, "kept "+name+": "+yamlOf(name, value))
			}
		}
	}
	values = loader.MergeMaps(values, set)
	if image, isMap := flags[imageKey].(map[string]any); isMap {
		before, _ := values[imageKey].(map[string]any)
		flags = maps.Clone(flags)
		flags[imageKey] = loader.MergeMaps(before, image)
	}
	maps.Copy(values, flags)
	return values, kept, nil
}

// imageKey is the value that keeps what the flag does not state, such as its pullPolicy.
const imageKey = "image"

// installedValues are the values of the installed release that are not those of its chart.
func (h *Helm) installedValues() map[string]any {
	if !h.Installed() {
		return nil
	}
	return h.Last.Config
}

// propertiesOf returns the names of the values that the schema of a chart has, also of those that are deprecated.
func propertiesOf(c *chart.Chart) (map[string]bool, error) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		return nil, fmt.Errorf("decoding the schema of the chart: %w", err)
	}
	out := map[string]bool{}
	for name := range schema.Properties {
		out[name] = true
	}
	return out, nil
}

// yamlOf returns a value as YAML in one line. Environment variables can have secret values: only their names are shown.
func yamlOf(name string, value any) string {
	if list, isList := value.([]any); isList && name == "extraEnv" {
		var names []any
		for _, v := range list {
			variable, _ := v.(map[string]any)
			names = append(names, variable["name"])
		}
		value = names
	}
	out, err := json.Marshal(value) // JSON is YAML
	if err != nil {
		return "?"
	}
	return string(out)
}

// GivenValues returns the values of v, a pointer to a struct, whose flag is given. A zero value is not in it: it is
// that of the chart.
func GivenValues(v any, isGiven Given) (map[string]any, error) {
	values, err := encode(v)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(values, func(name string, _ any) bool { return !isGiven(flagOf(name)) })
	return values, nil
}

// capital matches the beginning of a further word in the name of a value.
var capital = regexp.MustCompile(`([a-z])([A-Z])`)

// flagOf returns the name of the flag of a value.
func flagOf(value string) string { return strings.ToLower(capital.ReplaceAllString(value, "$1-$2")) }
