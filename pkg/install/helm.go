// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxHistory is the number of revisions that are kept, as with the command helm.
const maxHistory = 10

// Helm runs Helm's actions for the release of a chart.
type Helm struct {
	*action.Configuration
	chart           Chart
	namespace, name string
	// Last is the last revision, nil if there is none.
	Last *helm.Release
}

// Helm reads the last revision of a release of a chart. An empty name is that of an installation by this program.
func (c *Cluster) Helm(chart Chart, namespace, name string) (*Helm, error) {
	// The field manager of the command helm: with another one, helm upgrade and helm rollback would find conflicts.
	kube.ManagedFieldsManager = "helm"
	h := &Helm{chart: chart, namespace: namespace, name: cmp.Or(name, chart.Name)}
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
	image, _ := h.Last.Config["image"].(string)
	return image != "" && !strings.HasPrefix(image, repository+":")
}

// Install installs the chart with its values, or upgrades the release to it. A dry run has Helm check the change with
// the server, and writes nothing. A time limit above 0 waits until the objects are ready.
func (h *Helm) Install(ctx context.Context, values map[string]any, dryRun bool, limit time.Duration) error {
	c, err := h.chart.load()
	if err != nil {
		return err
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
		install.ForceConflicts = true
		_, err = install.RunWithContext(ctx, c, values)
		return err
	}
	upgrade := action.NewUpgrade(h.Configuration)
	upgrade.Namespace, upgrade.MaxHistory, upgrade.ResetValues = h.namespace, maxHistory, true
	upgrade.DryRunStrategy, upgrade.WaitStrategy, upgrade.Timeout = strategy, wait, limit
	upgrade.ForceConflicts = true
	_, err = upgrade.RunWithContext(ctx, h.name, c, values)
	return err
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
