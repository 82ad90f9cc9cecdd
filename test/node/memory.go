// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// memory returns a check of both charts with their memory limits beside n objects in releases of Fleet: while the
// objects are created, and when every process starts again with all of them.
func memory(objects int) func(context.Context, *node) (string, error) {
	return func(ctx context.Context, n *node) (string, error) {
		// The objects of the benchmark include thousands of Deployments, which no controller may run here.
		for _, controller := range []string{"kube-controller-manager", "kube-scheduler"} {
			if err := n.signal(controller, syscall.SIGSTOP); err != nil {
				return "", err
			}
		}
		if _, err := n.run(ctx, "bench", "-kubeconfig", n.path("kubeconfig"), "-n", strconv.Itoa(objects)); err != nil {
			return "", err
		}
		return n.underLimit(ctx, objects)
	}
}

// hostile has records of a tenant that name a million objects of others, half of them as those of existing bundles, and
// some that cannot be read. They may change no result.
func hostile(ctx context.Context, n *node) (string, error) {
	if _, err := n.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: tenant}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	for i := range 50 {
		name := fmt.Sprintf("bench-%03d", 75+i) // 100 exist
		rec := record.Record{Bundle: name, Namespace: tenant, Objects: record.ConfigMaps("kube-system", 20_000)}
		document, err := base64.StdEncoding.DecodeString(string(rec.Value()))
		if err == nil {
			value := base64.StdEncoding.EncodeToString(zipped(bytes.NewReader(document)))
			err = n.createRecord(ctx, tenant, name, value)
		}
		if err != nil {
			return "", err
		}
	}
	bomb := base64.StdEncoding.EncodeToString(zipped(io.LimitReader(zeros{}, 700<<20)))
	for name, value := range map[string]string{"bomb": bomb, "text": "bm90IGEgcmVjb3Jk", "noise": "%%%"} {
		if err := n.createRecord(ctx, tenant, name, value); err != nil {
			return "", err
		}
	}
	return n.underLimit(ctx, maxObjects)
}

const (
	tenant     = "tenant"
	maxObjects = 50_000
)

// zeros is an endless stream of zeros.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func zipped(from io.Reader) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.Copy(w, from) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// createRecord creates a release record with any content.
func (n *node) createRecord(ctx context.Context, namespace, name, value string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name:   release.Name{Namespace: namespace, Name: name, Revision: 1}.SecretName(),
		Labels: map[string]string{"owner": "helm", "name": name, "version": "1", "status": "deployed"}},
		Type: release.SecretType, Data: map[string][]byte{release.DataKey: []byte(value)}}
	_, err := n.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// underLimit waits until all auditors show n objects as ready, kills the process of every pod, and waits again. It
// returns the highest memory of the processes before and after.
func (n *node) underLimit(ctx context.Context, objects int) (string, error) {
	if err := n.shows(ctx, objects); err != nil {
		return "", err
	}
	before, err := n.processes(product, "fleetdoctor-")
	if err != nil {
		return "", err
	}
	for _, p := range before {
		if err := syscall.Kill(p.id, syscall.SIGKILL); err != nil {
			return "", fmt.Errorf("killing the process of pod %s: %w", p.pod, err)
		}
	}
	n.kills++
	if err := until(ctx, 3*time.Minute, func() error { return n.restarted(ctx) }); err != nil {
		return "", err
	}
	if err := n.shows(ctx, objects); err != nil {
		return "", err
	}
	after, err := n.processes(product, "fleetdoctor-")
	if err != nil {
		return "", err
	}
	var out []string
	for name := range charts {
		out = append(out, fmt.Sprintf("%s at most %d MiB, started again %d MiB", name, highest(before, name),
			highest(after, name)))
	}
	slices.Sort(out)
	return strings.Join(out, "; "), n.restarted(ctx)
}

// highest is the highest memory of the pods of a chart in MiB.
func highest(of []process, chart string) int64 {
	var out int64
	for _, p := range of {
		if strings.HasPrefix(p.pod, chart) {
			out = max(out, p.peak)
		}
	}
	return out >> 20
}

// restarted returns an error unless every container is ready and was only started again after this program killed it.
func (n *node) restarted(ctx context.Context) error {
	pods, err := n.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		for _, s := range pods.Items[i].Status.ContainerStatuses {
			last := ""
			if s.LastTerminationState.Terminated != nil {
				last = s.LastTerminationState.Terminated.Reason
			}
			if !s.Ready || int(s.RestartCount) != n.kills || last == "OOMKilled" {
				return fmt.Errorf("pod %s: ready %t, %d restarts instead of %d, last end %q", pods.Items[i].Name,
					s.Ready, s.RestartCount, n.kills, last)
			}
		}
	}
	return nil
}

// shows waits until every auditor shows a number of ready objects, and has nothing left to evaluate.
func (n *node) shows(ctx context.Context, objects int) error {
	pods, err := n.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=fleetdoctor-auditor"})
	if err != nil {
		return err
	}
	want := []string{`fleetdoctor_cluster_objects{cluster_name="local",cluster_namespace="fleet-local",state="Ready"} ` +
		metricValue(objects), "fleetdoctor_auditor_queue_length 0", "fleetdoctor_auditor_synced 1"}
	for i := range pods.Items {
		if err := until(ctx, 3*time.Minute, func() error {
			text, err := get(ctx, "http://"+pods.Items[i].Status.PodIP+":8080/metrics")
			for _, line := range want {
				if err == nil && !strings.Contains(text, "\n"+line+"\n") {
					err = fmt.Errorf("pod %s has no metric %s", pods.Items[i].Name, line)
				}
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// metricValue is a number as metrics have it.
func metricValue(v int) string { return strconv.FormatFloat(float64(v), 'g', -1, 64) }

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}
