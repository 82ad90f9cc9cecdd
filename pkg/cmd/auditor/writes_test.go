// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
)

// output is standard error of a running auditor.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// process is a running auditor.
type process struct {
	log     *output
	proxy   *proxy.Proxy
	metrics string // the address
}

// awaits waits until each of these regular expressions matches a line of the metrics.
func (p *process) awaits(t *testing.T, all ...string) {
	t.Helper()
	for _, line := range all {
		poll.True(t, line, func() bool { return p.exports(t, line) })
	}
}

func (p *process) exports(t *testing.T, line string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.metrics+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false // it does not listen yet
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	page, err := io.ReadAll(response.Body)
	return err == nil && regexp.MustCompile("(?m)^"+line+"$").Match(page)
}

// serve runs an auditor through a proxy until the end of the test, with the rights of a configuration. It returns when
// the auditor has a state and leads.
func serve(t *testing.T, rights *rest.Config, namespace string) *process {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	out := &process{metrics: net.JoinHostPort("127.0.0.1", strconv.Itoa(free[0]))}
	p, log := proxy.New(t, rights), &output{}
	kubeconfig := t.TempDir() + "/kubeconfig"
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: p.Config().Host}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Main(ctx, []string{"kubectl-fleetdoctor", "auditor", "serve", "--kubeconfig", kubeconfig, "-n", namespace,
			"--metrics-bind-address=" + out.metrics, "--health-probe-bind-address=0"},
			cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: log,
				ErrOut: log}})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	out.log, out.proxy = log, p
	out.awaits(t, "fleetdoctor_auditor_synced 1", "fleetdoctor_auditor_leader 1")
	return out
}

// deployed installs a release of ten ConfigMaps, as Fleet's agent does.
func deployed(t *testing.T, name string) (hash string) {
	t.Helper()
	var m strings.Builder
	for i := range 10 {
		fmt.Fprintf(&m, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {key: value}\n---\n", name, i)
	}
	id := fleet.SetID(name, "")
	shared.InstallRelease(t, cluster.ReleaseOptions{BundleID: name, Namespace: name, SetID: id, Hash: fleet.Hash(id),
		AgentNamespace: "cattle-fleet-system", Manifest: m.String()})
	return fleet.Hash(id)
}

func configMap(t *testing.T, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	out := &corev1.ConfigMap{}
	if err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// change merges a patch into a ConfigMap.
func change(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if err := shared.Client().Patch(t.Context(), configMap(t, namespace, name),
		client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

const strip = `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`

// TestWrites checks that only Events and the Lease are written, and not the unowned objects.
func TestWrites(t *testing.T) {
	const ns, app = "writes", "unadopted"
	for _, name := range []string{ns, app, "cattle-fleet-system"} {
		shared.Namespace(t, name)
	}
	deployed(t, app)
	a := serve(t, shared.Config(), ns)
	for _, name := range []string{app + "-0", app + "-1"} {
		change(t, app, name, strip)
		poll.True(t, "the leader has written an Event on "+name, func() bool {
			list := &eventsv1.EventList{}
			if err := shared.Client().List(t.Context(), list, client.InNamespace(app)); err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
				return e.Reason == "FleetUnowned" && e.Regarding.Name == name
			})
		})
		if o := configMap(t, app, name); o.Labels[fleet.HashLabel] != "" {
			t.Errorf("%s was adopted:\n%s", name, a.log)
		}
	}
	for _, r := range a.proxy.Received() {
		own := strings.Contains(r.URL.Path, "/events") || strings.Contains(r.URL.Path, "/leases")
		if r.Method != http.MethodGet && !own {
			t.Errorf("the auditor sent %s %s", r.Method, r.URL)
		}
	}
}
