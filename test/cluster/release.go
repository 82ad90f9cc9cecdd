// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	releaser "helm.sh/helm/v4/pkg/release"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AgentManager is the field manager of the objects of a release, as Fleet's agent names itself.
const AgentManager = "fleetagent"

// serverValidates is true because every server since Kubernetes 1.27 validates fields itself. Helm only finds that out,
// by decoding the schemas of all kinds of a group in each action; this takes most of its time.
const serverValidates = true

// agentHistory is the number of revisions that Fleet's agent keeps (docs/fleet-behavior.md, 2.8).
const agentHistory = 2

// ReleaseOptions describe a release as Fleet's agent deploys a bundle. Without BundleID, SetID and Hash it is a
// Helm release without Fleet.
type ReleaseOptions struct {
	// BundleID is the name of the BundleDeployment, and of the release unless Name is set.
	BundleID string
	Name     string
	// Namespace is the release namespace, which contains the records. It is created if it does not exist.
	Namespace string
	// SetID and Hash are Fleet's ownership metadata of every object: the annotation objectset.rio.cattle.io/id and the
	// label objectset.rio.cattle.io/hash (docs/fleet-behavior.md, 1.1, 1.2).
	SetID, Hash string

	// Manifest has raw objects as YAML documents, Templates the chart's templates by file name, CRDs the content of
	// the chart's crds directory, which gets no metadata and is in no recorded manifest.
	Manifest  string
	Templates map[string]string
	CRDs      string
	Values    map[string]any

	// The chart's annotations (docs/fleet-behavior.md, 1.6). An empty Commit is omitted.
	AgentNamespace, ServiceAccount, Commit string
	KeepResources                          bool

	// TargetNamespace is set on every object, as `namespace` in a fleet.yaml.
	TargetNamespace string
	// DeleteCRDResources omits the resource policy "keep" of CustomResourceDefinitions.
	DeleteCRDResources bool
	// TakeOwnership makes an install take over objects of other owners. An upgrade always does. An install that
	// takes ownership uses client-side apply (docs/fleet-behavior.md, 1.7).
	TakeOwnership bool
	// ClientSideApply makes an install use client-side apply, as before Fleet 0.15. An upgrade does as the previous
	// revision.
	ClientSideApply bool

	// User is the user of Helm's requests, with all permissions; the administrator if it is empty.
	User string
	// Recorded, if not nil, is called after Helm has stored the record of a new revision and before it writes objects.
	Recorded func()
}

// afterRecord calls a function after a release record was created.
type afterRecord struct {
	http.RoundTripper
	recorded func()
}

// RoundTrip implements http.RoundTripper.
func (a afterRecord) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && path.Base(r.URL.Path) == "secrets" {
		a.recorded()
	}
	return response, err
}

// InstallRelease is Install for a test; an error ends the test.
func (c *Cluster) InstallRelease(tb testing.TB, o ReleaseOptions) *release.Release {
	tb.Helper()
	rel, err := c.Install(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return rel
}

// UpgradeRelease is Upgrade for a test; an error ends the test.
func (c *Cluster) UpgradeRelease(tb testing.TB, o ReleaseOptions) *release.Release {
	tb.Helper()
	rel, err := c.Upgrade(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return rel
}

// prepare returns Helm's configuration and the chart of a release.
func (c *Cluster) prepare(o ReleaseOptions) (*action.Configuration, *chart.Chart, error) {
	config, err := c.helm(o)
	if err != nil {
		return nil, nil, err
	}
	ch, err := o.chart()
	return config, ch, err
}

// Install installs a release and returns its record. It does not wait for ready objects. A failed install leaves a
// record with that status, as with Fleet.
func (c *Cluster) Install(ctx context.Context, o ReleaseOptions) (*release.Release, error) {
	config, ch, err := c.prepare(o)
	if err != nil {
		return nil, err
	}
	missing, err := c.lacksNamespace(ctx, o.Namespace)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace = o.releaseName(), o.Namespace
	install.CreateNamespace = missing
	install.Replace = true
	install.TakeOwnership = o.TakeOwnership
	install.ServerSideApply = !o.ClientSideApply && !o.TakeOwnership
	install.PostRenderer = o.postRenderer(ch)
	install.WaitStrategy = kube.HookOnlyStrategy
	install.DisableOpenAPIValidation = serverValidates
	rel, err := install.RunWithContext(ctx, ch, o.values())
	if err != nil {
		return nil, fmt.Errorf("installing release %s/%s: %w", o.Namespace, o.releaseName(), err)
	}
	return asRelease(rel)
}

// lacksNamespace reports whether a namespace does not exist. Helm validates the manifest of a namespace that it is to
// create, even if it exists.
func (c *Cluster) lacksNamespace(ctx context.Context, name string) (bool, error) {
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// Upgrade deploys the next revision of a release and returns its record. Two revisions are kept.
func (c *Cluster) Upgrade(ctx context.Context, o ReleaseOptions) (*release.Release, error) {
	config, ch, err := c.prepare(o)
	if err != nil {
		return nil, err
	}
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace = o.Namespace
	upgrade.TakeOwnership = true
	upgrade.MaxHistory = agentHistory
	upgrade.PostRenderer = o.postRenderer(ch)
	upgrade.WaitStrategy = kube.HookOnlyStrategy
	upgrade.DisableOpenAPIValidation = serverValidates
	rel, err := upgrade.RunWithContext(ctx, o.releaseName(), ch, o.values())
	if err != nil {
		return nil, fmt.Errorf("upgrading release %s/%s: %w", o.Namespace, o.releaseName(), err)
	}
	return asRelease(rel)
}

// Uninstall removes a release with its objects and its records.
func (c *Cluster) Uninstall(o ReleaseOptions) error {
	config, err := c.helm(o)
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(config)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(o.releaseName()); err != nil {
		return fmt.Errorf("uninstalling release %s/%s: %w", o.Namespace, o.releaseName(), err)
	}
	return nil
}

func asRelease(r releaser.Releaser) (*release.Release, error) {
	rel, ok := r.(*release.Release)
	if !ok {
		return nil, fmt.Errorf("reading Helm's result: %T is not a release of version 1", r)
	}
	return rel, nil
}

// nameManager sets the field manager in Helm's global variable; the default is the name of the test binary.
var nameManager = sync.OnceFunc(func() { kube.ManagedFieldsManager = AgentManager })

// helm returns the configuration of Helm's actions for a release, with the storage that Fleet uses.
func (c *Cluster) helm(o ReleaseOptions) (*action.Configuration, error) {
	nameManager()
	namespace, as := o.Namespace, c.Config()
	if o.User != "" {
		as.Impersonate = rest.ImpersonationConfig{UserName: o.User, Groups: []string{"system:masters"}}
	}
	if o.Recorded != nil {
		as.Wrap(func(next http.RoundTripper) http.RoundTripper { return afterRecord{next, o.Recorded} })
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(as)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	// Created for each action, so that it includes kinds that an earlier action created.
	flags := genericclioptions.NewTestConfigFlags().
		WithClientConfig(clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), nil)).
		WithNamespace(namespace).
		WithDiscoveryClient(memory.NewMemCacheClient(kinds))
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := config.Init(helmGetter{flags, as}, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("configuring Helm: %w", err)
	}
	return config, nil
}

// helmGetter gives a client configuration to Helm without a rate limit.
type helmGetter struct {
	*genericclioptions.TestConfigFlags
	config *rest.Config
}

func (g helmGetter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

func (o ReleaseOptions) releaseName() string {
	if o.Name != "" {
		return o.Name
	}
	return o.BundleID
}

func (o ReleaseOptions) values() map[string]any {
	if o.Values == nil {
		return map[string]any{}
	}
	return o.Values
}

// chart returns the chart that Fleet's agent creates for a bundle without a chart (docs/fleet-behavior.md, 2.6).
func (o ReleaseOptions) chart() (*chart.Chart, error) {
	epoch := time.Unix(0, 0).UTC()
	ch := &chart.Chart{ModTime: epoch}
	var files []bundleFile
	add := func(to *[]*common.File, dir, name, content string) {
		*to = append(*to, &common.File{Name: dir + name, Data: []byte(content), ModTime: epoch})
		files = append(files, bundleFile{name, content})
	}
	if o.Manifest != "" {
		add(&ch.Files, rawDir, "all.yaml", o.Manifest)
	}
	if o.CRDs != "" {
		add(&ch.Files, "", "crds/all.yaml", o.CRDs)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Templates)) {
		add(&ch.Templates, "", "templates/"+name, o.Templates[name])
	}
	id, err := manifestID(files)
	if err != nil {
		return nil, err
	}
	ch.Metadata = &chart.Metadata{
		APIVersion:  chart.APIVersionV2,
		Name:        o.releaseName(),
		Version:     "v0.0.0+" + id,
		Annotations: o.chartAnnotations(),
	}
	return ch, nil
}

// bundleFile is an entry of a manifest document.
type bundleFile struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// manifestID is the name of the Content with these files of a bundle (docs/fleet-behavior.md, 2.1).
func manifestID(files []bundleFile) (string, error) {
	document, err := json.Marshal(map[string][]bundleFile{"resources": files})
	if err != nil {
		return "", fmt.Errorf("encoding the bundle: %w", err)
	}
	return fmt.Sprintf("s-%x", sha256.Sum256(append(document, '\n')))[:63], nil
}

func (o ReleaseOptions) chartAnnotations() map[string]string {
	if o.BundleID == "" {
		return nil
	}
	annotations := map[string]string{
		"fleet.cattle.io/bundle-id":       o.BundleID,
		"fleet.cattle.io/agent-namespace": o.AgentNamespace,
		"fleet.cattle.io/service-account": o.ServiceAccount,
		"fleet.cattle.io/keep-resources":  strconv.FormatBool(o.KeepResources),
	}
	if o.Commit != "" {
		annotations["fleet.cattle.io/commit"] = o.Commit
	}
	return annotations
}

func (o ReleaseOptions) postRenderer(ch *chart.Chart) *postRenderer {
	p := &postRenderer{chart: ch, targetNamespace: o.TargetNamespace, deleteCRDs: o.DeleteCRDResources}
	if o.Hash != "" {
		p.labels = map[string]string{"objectset.rio.cattle.io/hash": o.Hash}
	}
	if o.SetID != "" {
		p.annotations = map[string]string{"objectset.rio.cattle.io/id": o.SetID}
	}
	return p
}
