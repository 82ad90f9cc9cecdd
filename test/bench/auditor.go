// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// auditorResult is the measurement of the auditor at one size.
type auditorResult struct {
	Objects  int `json:"objects"`
	Releases int `json:"releases"`
	// Audits are audits of the same cluster, Starts the times until the auditor was ready.
	Audits []usage         `json:"audits"`
	Starts []time.Duration `json:"startsNanoseconds"`
	// StartPeak is the largest memory of a start. Steady is the memory afterwards, and SteadyOwn the part of it that is
	// not the program file.
	StartPeak, Steady, SteadyOwn int64
	// Idle is the processor time in IdleFor without a change.
	Idle, IdleFor time.Duration
	// Latencies are the times from a deletion until a metric names the object, in ascending order.
	Latencies []time.Duration `json:"latenciesNanoseconds"`
	// Burst is the number of objects that changed in BurstFor; Behind is how long after the last change the metrics
	// showed all of them. BurstPeak is the largest memory.
	Burst            int
	BurstFor, Behind time.Duration
	BurstPeak        int64
}

const (
	auditorLatencies = 60
	auditorIdle      = time.Minute
	burst            = 10_000
)

// runningAuditor is an auditor that runs as a process.
type runningAuditor struct {
	cmd             *exec.Cmd
	metrics, probes string
}

// startAuditor starts an auditor, and returns when it is ready.
func (b *bench) startAuditor(ctx context.Context) (*runningAuditor, time.Duration, error) {
	free, err := ports.Free(2)
	if err != nil {
		return nil, 0, err
	}
	a := &runningAuditor{metrics: fmt.Sprintf("127.0.0.1:%d", free[0]), probes: fmt.Sprintf("127.0.0.1:%d", free[1])}
	a.cmd = exec.CommandContext(ctx, b.product, "auditor", "serve", "--kubeconfig", b.kubeconfig(), "--namespace",
		metav1.NamespaceDefault, "--metrics-bind-address", a.metrics, "--health-probe-bind-address", a.probes)
	a.cmd.Env = append(os.Environ(), "GOMEMLIMIT=270MiB") // as in the chart
	a.cmd.Stderr = b.stderr
	start := time.Now()
	if err := a.cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("starting the auditor: %w", err)
	}
	for {
		if _, err := get(ctx, a.probes+"/readyz"); err == nil {
			return a, time.Since(start), nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, 0, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (a *runningAuditor) stop() error {
	err := a.cmd.Process.Signal(os.Interrupt)
	_ = a.cmd.Wait() // its status is that of the interrupt
	return err
}

// status returns a value of /proc/PID/status in bytes.
func (a *runningAuditor) status(name string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of the auditor: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("reading the memory of the auditor: no %s", name)
}

// processor returns the processor time so far, in the ticks of 10 ms of Linux.
func (a *runningAuditor) processor() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the processor time of the auditor: %w", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err, errSystem)
}

// missing returns the objects that the metrics name as missing.
func (a *runningAuditor) missing(ctx context.Context) (map[string]bool, error) {
	text, err := get(ctx, a.metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "fleetdoctor_object_state{") && strings.Contains(line, `state="Missing"`) {
			_, rest, _ := strings.Cut(line, `,object="`)
			name, _, _ := strings.Cut(rest, `"`)
			out[name] = true
		}
	}
	return out, nil
}

// get reads a page of a local server.
func get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %s: %s", address, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// await waits until the metrics name an object as missing, or no longer.
func (a *runningAuditor) await(ctx context.Context, name string, missing bool) (time.Duration, error) {
	start := time.Now()
	for {
		found, err := a.missing(ctx)
		if err != nil || found[name] == missing {
			return time.Since(start), err
		}
		if time.Since(start) > time.Minute {
			return 0, fmt.Errorf("the metrics do not show the change of %s after a minute", name)
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// measureAuditor measures an auditor of the objects.
func (b *bench) measureAuditor(ctx context.Context, l *loader) (auditorResult, error) {
	res := auditorResult{Objects: l.objects, Releases: l.releases, IdleFor: auditorIdle}
	if err := b.cluster.WriteKubeconfig(b.kubeconfig()); err != nil {
		return res, err
	}
	if _, err := b.audit(ctx, l.objects, "--kubeconfig", b.kubeconfig()); err != nil {
		return res, err
	}
	var a *runningAuditor
	for i := range b.options.rounds {
		u, err := b.audit(ctx, l.objects, "--kubeconfig", b.kubeconfig())
		if err != nil {
			return res, err
		}
		if a != nil {
			if err := a.stop(); err != nil {
				return res, err
			}
		}
		var took time.Duration
		if a, took, err = b.startAuditor(ctx); err != nil {
			return res, err
		}
		peak, err := a.status("VmHWM")
		if err != nil {
			return res, err
		}
		res.Audits, res.Starts = append(res.Audits, u), append(res.Starts, took)
		res.StartPeak = max(res.StartPeak, peak)
		b.progress("round %d of %d: audit %s, auditor ready after %s with %d MiB", i+1, b.options.rounds,
			seconds(u.Wall), seconds(took), peak/mebibyte)
	}
	slices.Sort(res.Starts)
	err := cmp.Or(b.auditorIdles(ctx, a, &res), b.auditorFollows(ctx, a, &res), b.auditorBurst(ctx, a, &res))
	return res, errors.Join(err, a.stop())
}

// auditorIdles measures the auditor while nothing changes.
func (b *bench) auditorIdles(ctx context.Context, a *runningAuditor, res *auditorResult) error {
	if err := sleep(ctx, 20*time.Second); err != nil {
		return err
	}
	before, err := a.processor()
	if err != nil {
		return err
	}
	if err := sleep(ctx, auditorIdle); err != nil {
		return err
	}
	after, err := a.processor()
	if err != nil {
		return err
	}
	res.Idle = after - before
	if res.Steady, err = a.status("VmRSS"); err != nil {
		return err
	}
	res.SteadyOwn, err = a.status("RssAnon")
	b.progress("idle: %s of processor time in %s, %d MiB of memory, %d of them not the program file", res.Idle,
		auditorIdle, res.Steady/mebibyte, res.SteadyOwn/mebibyte)
	return err
}

// deployed returns n ConfigMaps of the releases.
func (b *bench) deployed(ctx context.Context, n int) ([]corev1.ConfigMap, error) {
	var all corev1.ConfigMapList
	if err := b.cluster.Client().List(ctx, &all, client.HasLabels{"objectset.rio.cattle.io/hash"}); err != nil {
		return nil, fmt.Errorf("listing ConfigMaps: %w", err)
	}
	step := max(1, len(all.Items)/n)
	var out []corev1.ConfigMap
	for i := 0; i < len(all.Items) && len(out) < n; i += step {
		out = append(out, all.Items[i])
	}
	return out, nil
}

// deleteOne deletes a ConfigMap, and returns how long it took until the metrics named it. It creates the ConfigMap
// again.
func (b *bench) deleteOne(ctx context.Context, a *runningAuditor, o corev1.ConfigMap) (time.Duration, error) {
	if err := b.cluster.Client().Delete(ctx, &o); err != nil {
		return 0, fmt.Errorf("deleting a ConfigMap: %w", err)
	}
	took, err := a.await(ctx, o.Name, true)
	if err != nil {
		return 0, err
	}
	o.ResourceVersion, o.UID, o.ManagedFields = "", "", nil
	if err := b.cluster.Client().Create(ctx, &o); err != nil {
		return 0, fmt.Errorf("creating a ConfigMap: %w", err)
	}
	_, err = a.await(ctx, o.Name, false)
	return took, err
}

// auditorFollows measures how soon the metrics name an object that was deleted.
func (b *bench) auditorFollows(ctx context.Context, a *runningAuditor, res *auditorResult) error {
	objects, err := b.deployed(ctx, auditorLatencies)
	if err != nil {
		return err
	}
	for _, o := range objects {
		took, err := b.deleteOne(ctx, a, o)
		if err != nil {
			return err
		}
		res.Latencies = append(res.Latencies, took)
	}
	slices.Sort(res.Latencies)
	b.progress("deletion to metric: median %s, highest %s", seconds(median(res.Latencies)),
		seconds(highest(res.Latencies)))
	return nil
}

// auditorBurst changes many objects within a minute, and deletes one at the end.
func (b *bench) auditorBurst(ctx context.Context, a *runningAuditor, res *auditorResult) error {
	objects, err := b.deployed(ctx, burst)
	if err != nil {
		return err
	}
	res.Burst = min(burst, 2*len(objects))
	start := time.Now()
	g, changes := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range res.Burst {
		o := objects[i%len(objects)]
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
			`{"metadata":{"annotations":{"example.com/change":"%d"}}}`, i))
		g.Go(func() error { return b.cluster.Client().Patch(changes, &o, patch) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("changing ConfigMaps: %w", err)
	}
	res.BurstFor = time.Since(start)
	if res.Behind, err = b.deleteOne(ctx, a, objects[0]); err != nil {
		return err
	}
	res.BurstPeak, err = a.status("VmHWM")
	b.progress("%d changes in %s; the last one shown after %s; at most %d MiB", res.Burst, seconds(res.BurstFor),
		seconds(res.Behind), res.BurstPeak/mebibyte)
	return err
}

func (p *printer) auditor(r auditorResult) {
	p.line("")
	p.line("%d objects in %d releases", r.Objects, r.Releases)
	p.row("\tmedian\tlowest\thighest\tprocessor\tpeak memory\trounds")
	p.usages("audit", r.Audits)
	p.times("auditor, until it is ready", r.Starts, "", fmt.Sprintf("%d MiB", r.StartPeak/mebibyte))
	p.times("deletion to metric", r.Latencies, "", "")
	p.flush()
	p.line("idle for %s: %s of processor time, %d MiB of memory, %d MiB of them not the program file", r.IdleFor,
		r.Idle, r.Steady/mebibyte, r.SteadyOwn/mebibyte)
	p.line("%d changes in %s: the last one was shown after %s; at most %d MiB", r.Burst, seconds(r.BurstFor),
		seconds(r.Behind), r.BurstPeak/mebibyte)
}
