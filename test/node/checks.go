// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

const (
	namespace = "fleetdoctor-system"
	shop      = "shop" // has the objects of bundle shop
	product   = "kubectl-fleetdoctor"
)

// check is a check of the node. run returns what was measured.
type check struct {
	name string
	run  func(ctx context.Context, n *node) (string, error)
}

// checks are all checks, in their order: each works on what the ones before left.
var checks = []check{
	{"install both charts with helm", install},
	{"adopt and restore through the Service", stamp},
	{"deny through the Service", deny},
	{"replace both webhook pods under writes", killPods},
	{"upgrade and roll back under writes", rollOut},
	{"helm upgrade keeps and resets values", values},
	{"an arbitrary user, and a read-only root", restricted},
	{"policies of the network, peer by peer", policies},
	{"status of both", statuses},
	{"uninstall both", uninstall},
	{"install again", install},
	{"5,000 objects under the memory limits", memory(5000)},
	{"freeze the leader with its kubelet", freeze},
	{"50,000 objects under the memory limits", memory(maxObjects)},
	{"hostile records under the memory limits", hostile},
}

// charts are the charts by the names of their releases.
var charts = map[string]string{"fleetdoctor-webhook": "manifests/webhook", "fleetdoctor-auditor": "manifests/auditor"}

// helm installs or upgrades a release with more arguments, and waits until it is ready.
func (n *node) helm(ctx context.Context, name string, args ...string) error {
	_, err := n.run(ctx, "helm", append([]string{"upgrade", "--install", name, charts[name], "-n", namespace,
		"--wait", "--timeout=2m"}, args...)...)
	return err
}

// imageValues are the arguments of helm for the image.
func imageValues() []string {
	return []string{"--set=image.tag=" + version, "--set=image.repository=" + repository}
}

func install(ctx context.Context, n *node) (string, error) {
	labels := map[string]string{}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	for name, l := range map[string]map[string]string{namespace: labels, shop: nil} {
		if _, err := n.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: l}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	var took []string
	for _, name := range []string{"fleetdoctor-webhook", "fleetdoctor-auditor"} {
		start := time.Now()
		if err := n.helm(ctx, name, imageValues()...); err != nil {
			return "", err
		}
		took = append(took, fmt.Sprintf("%s %.1f s", name, time.Since(start).Seconds()))
	}
	return strings.Join(took, ", "), nil
}

// desired are the objects of bundle shop.
func desired() []object.Ref { return record.ConfigMaps(shop, objects) }

// objects is the number of objects: the rate limit allows to restore each of them once a second.
const objects = 100

// helmsAnnotations are the metadata with which Helm takes an object over.
func helmsAnnotations() map[string]string {
	return map[string]string{fleet.ReleaseNameAnnotation: shop, fleet.ReleaseNamespaceAnnotation: shop}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name,
		Labels: map[string]string{fleet.ManagedByLabel: "Helm"}, Annotations: helmsAnnotations()}}
}

// withoutHash is a patch that takes an object from its bundle.
const withoutHash = `{"metadata":{"labels":{"` + fleet.HashLabel + `":null}}}`

// stamp creates objects with Helm's metadata, and removes the hash of one. The webhook writes it both times.
func stamp(ctx context.Context, n *node) (string, error) {
	rec := record.Record{Bundle: shop, Namespace: shop, Objects: desired()}
	if err := n.createRecord(ctx, shop, shop, string(rec.Value())); err != nil {
		return "", err
	}
	maps := n.client.CoreV1().ConfigMaps(shop)
	first := desired()[0].Name
	if err := until(ctx, 10*time.Second, func() error { // until the webhook has read the record
		m, err := maps.Create(ctx, configMap(first), metav1.CreateOptions{})
		if err != nil || m.Labels[fleet.HashLabel] != "" {
			return err
		}
		return errors.Join(errors.New("it is not adopted"), maps.Delete(ctx, first, metav1.DeleteOptions{}))
	}); err != nil {
		return "", err
	}
	for _, o := range desired()[1:] {
		m, err := maps.Create(ctx, configMap(o.Name), metav1.CreateOptions{})
		if err := hasHash(m, err); err != nil {
			return "", err
		}
	}
	m, err := maps.Patch(ctx, first, types.MergePatchType, []byte(withoutHash), metav1.PatchOptions{})
	if err := hasHash(m, err); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d objects", len(desired())), nil
}

// hasHash returns the error of a write, or an error if the webhook wrote no hash.
func hasHash(m *corev1.ConfigMap, err error) error {
	if err == nil && m.Labels[fleet.HashLabel] == "" {
		err = fmt.Errorf("configmap %s/%s has no hash", m.Namespace, m.Name)
	}
	return err
}

// deny sets the mode deny, in which an object cannot be deleted, and then the mode warn again.
func deny(ctx context.Context, n *node) (string, error) {
	label := func(mode string) error {
		_, err := n.client.CoreV1().Namespaces().Patch(ctx, shop, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"fleetdoctor.io/guard":"`+mode+`"}}}`), metav1.PatchOptions{})
		return err
	}
	if err := label("deny"); err != nil {
		return "", err
	}
	dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	if err := until(ctx, 10*time.Second, func() error {
		err := n.client.CoreV1().ConfigMaps(shop).Delete(ctx, desired()[1].Name, dryRun)
		if !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("the deletion was not denied"), err)
		}
		return nil
	}); err != nil {
		return "", err
	}
	return "", label("warn")
}

// timeout is the timeoutSeconds of the webhooks.
const timeout = 2 * time.Second

// maxWriters is the number of writes at the same time, of which a slow machine cannot finish 200 in a second.
const maxWriters = 20

// writing writes 200 times a second while something is done; every tenth write reaches the webhook. No write may fail,
// and none may wait longer than the timeout of the webhook.
func (n *node) writing(ctx context.Context, do func() error) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed atomic.Pointer[error]
	var mu sync.Mutex
	var took []time.Duration
	var writers sync.WaitGroup
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	var doErr error
	begin, free := time.Now(), make(chan struct{}, maxWriters)
	for i, running := 0, true; running; i++ {
		select {
		case doErr = <-ended:
			running = false
			continue
		case <-tick.C:
			free <- struct{}{}
		}
		writers.Go(func() {
			defer func() { <-free }()
			start := time.Now()
			patch := fmt.Sprintf(`{"data":{"n":"%d"}}`, i)
			if i%10 == 0 { // only this one reaches the webhook
				patch = withoutHash
			}
			name := fmt.Sprintf("object-%d", (i/10+i)%objects)
			_, err := n.client.CoreV1().ConfigMaps(shop).Patch(ctx, name, types.MergePatchType,
				[]byte(patch), metav1.PatchOptions{})
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			mu.Lock()
			took = append(took, time.Since(start))
			mu.Unlock()
		})
	}
	writers.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		return "", errors.Join(doErr, errors.New("nothing was written"))
	}
	longest := took[len(took)-1]
	rate := float64(len(took)) / time.Since(begin).Seconds()
	text := fmt.Sprintf("%.0f writes/s, median %s, longest %s", rate, took[len(took)/2].Round(time.Millisecond),
		longest.Round(time.Millisecond))
	switch err := failed.Load(); {
	case doErr != nil:
		return "", doErr
	case err != nil:
		return "", fmt.Errorf("a write failed: %w", *err)
	case longest > timeout+time.Second: // and what the server needs itself
		return "", errors.New("a write waited too long: " + text)
	}
	return text, nil
}

// killPods kills one webhook pod after the other, each when the other one is ready again.
func killPods(ctx context.Context, n *node) (string, error) {
	return n.writing(ctx, func() error {
		pods, err := n.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: "app.kubernetes.io/name=fleetdoctor-webhook"})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			now := int64(0)
			if err := n.client.CoreV1().Pods(namespace).Delete(ctx, pods.Items[i].Name,
				metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
				return err
			}
			if err := n.ready(ctx, "fleetdoctor-webhook"); err != nil {
				return err
			}
		}
		return nil
	})
}

// ready waits until all replicas of a Deployment are ready.
func (n *node) ready(ctx context.Context, name string) error {
	_, err := n.run(ctx, "kubectl", "rollout", "status", "-n", namespace, "deployment/"+name, "--timeout=60s")
	return err
}

// rollOut upgrades the webhook from the previous release, and rolls it back. Without a release, it is another revision
// of this one.
func rollOut(ctx context.Context, n *node) (string, error) {
	from := "this release"
	if previous := n.path("previous"); exists(previous) {
		from = "the previous release"
		if _, err := n.run(ctx, "helm", "uninstall", "fleetdoctor-webhook", "-n", namespace, "--wait"); err != nil {
			return "", err
		}
		if _, err := n.run(ctx, previous, "webhook", "install", "-n", namespace, "--wait",
			"--image="+repository+":"+previousVersion); err != nil {
			return "", err
		}
	}
	upgrade := append(imageValues(), "--reset-values", "--set=podAnnotations.revision=next")
	out, err := n.writing(ctx, func() error {
		if err := n.helm(ctx, "fleetdoctor-webhook", upgrade...); err != nil {
			return err
		}
		_, err := n.run(ctx, "helm", "rollback", "fleetdoctor-webhook", "-n", namespace, "--wait", "--timeout=2m")
		return errors.Join(err, n.ready(ctx, "fleetdoctor-webhook"))
	})
	if err != nil {
		return "", err
	}
	return "from " + from + ": " + out, n.helm(ctx, "fleetdoctor-webhook", upgrade...)
}

// values checks what helm and this program keep of the values.
func values(ctx context.Context, n *node) (string, error) {
	if err := n.helm(ctx, "fleetdoctor-auditor", "--reuse-values", "--set=resources.limits.memory=400Mi"); err != nil {
		return "", err
	}
	out, err := n.run(ctx, product, "auditor", "install", "--set=podLabels.team=platform", "--wait")
	if err != nil {
		return "", err
	}
	if !strings.Contains(out, `Note: kept resources: {"limits":{"memory":"400Mi"}}`) {
		return "", errors.New("the memory limit is not kept:\n" + out)
	}
	if err := n.helm(ctx, "fleetdoctor-auditor", append(imageValues(), "--reset-values")...); err != nil {
		return "", err
	}
	deployment, err := n.client.AppsV1().Deployments(namespace).Get(ctx, "fleetdoctor-auditor", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); limit.String() != "300Mi" {
		return "", errors.New("--reset-values left a memory limit of " + limit.String())
	}
	return "", nil
}

// restricted runs the pods as OpenShift does, with a user of another number.
func restricted(ctx context.Context, n *node) (string, error) {
	for name := range charts {
		const user = `{"spec":{"template":{"spec":{"securityContext":{"runAsUser":1000650000,"fsGroup":1000650000}}}}}`
		if _, err := n.run(ctx, "kubectl", "patch", "deployment", name, "-n", namespace, "-p", user); err != nil {
			return "", err
		}
		if err := n.ready(ctx, name); err != nil {
			return "", err
		}
	}
	pods, err := n.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range pods.Items {
		for _, s := range pods.Items[i].Status.ContainerStatuses {
			if s.RestartCount > 0 {
				return "", fmt.Errorf("pod %s was restarted %d times", pods.Items[i].Name, s.RestartCount)
			}
		}
	}
	return "no pod was restarted", nil
}

// statuses checks that this program calls both well.
func statuses(ctx context.Context, n *node) (string, error) {
	var out []string
	for _, verb := range []string{"webhook", "auditor"} {
		var text string
		if err := until(ctx, 40*time.Second, func() (err error) { // the Lease of a former leader must end
			text, err = n.run(ctx, product, verb, "status", "-o", "jsonpath={.state}")
			return err
		}); err != nil {
			return "", err
		}
		out = append(out, verb+" "+strings.TrimSpace(text))
	}
	return strings.Join(out, ", "), nil
}

// uninstall removes one with helm, and the other one with this program. It says what each left.
func uninstall(ctx context.Context, n *node) (string, error) {
	if _, err := n.run(ctx, "helm", "uninstall", "fleetdoctor-webhook", "-n", namespace, "--wait"); err != nil {
		return "", err
	}
	afterWebhook, err := n.left(ctx, "fleetdoctor-webhook")
	if err != nil {
		return "", err
	}
	if _, err := n.run(ctx, product, "auditor", "uninstall", "--yes"); err != nil {
		return "", err
	}
	afterAuditor, err := n.left(ctx, "fleetdoctor-auditor")
	return "left by helm: " + afterWebhook + "; by auditor uninstall: " + afterAuditor, err
}

// left names what is left of a chart. The error names what may not be left.
func (n *node) left(ctx context.Context, name string) (string, error) {
	const kinds = "leases,roles,rolebindings,services,secrets,serviceaccounts,networkpolicies,poddisruptionbudgets," +
		"deployments,configmaps"
	all, err := n.run(ctx, "kubectl", "get", "-A", "-o", "name", kinds+",mutatingwebhookconfigurations,"+
		"validatingwebhookconfigurations,clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/name="+name)
	if err != nil {
		return "", err
	}
	if all != "" {
		return "", fmt.Errorf("left of %s: %s", name, strings.Fields(all))
	}
	out, err := n.run(ctx, "kubectl", "get", "-n", namespace, "-o", "name", kinds)
	left := slices.DeleteFunc(strings.Fields(out), func(object string) bool { return !strings.Contains(object, name) })
	return strings.Join(append(left, "the Namespace"), ", "), err
}
