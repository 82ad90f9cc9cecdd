// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	certutil "k8s.io/client-go/util/cert"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// serveLog is a buffer that is written and read concurrently.
type serveLog struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *serveLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *serveLog) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// runServe runs the subcommand as the root command does, and returns its log.
func runServe(ctx context.Context, args ...string) (logged string, err error) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	log := &serveLog{}
	streams.ErrOut = log
	c := newServe(cli.Environment{Streams: streams})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(ctx)
	return log.String(), err
}

// freeAddresses returns arguments with free ports of the loopback interface, and the address of the probes.
func freeAddresses(t *testing.T) (args []string, probes string) {
	t.Helper()
	free, err := ports.Free(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", free[i]) }
	return []string{fmt.Sprintf("--port=%d", free[0]), "--bind-address=127.0.0.1", "--metrics-bind-address=" + at(1),
		"--health-probe-bind-address=" + at(2)}, at(2)
}

// occupy listens on a port of the loopback interface.
func occupy(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// awaitProbe polls until a probe answers with a status.
func awaitProbe(t *testing.T, url string, status int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(poll.Deadline)
	for {
		if r, err := http.Get(url); err == nil {
			if r.Body.Close() == nil && r.StatusCode == status {
				return
			}
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s did not answer %d within %s", url, status, poll.Deadline)
		}
	}
}

// writePair writes a certificate and its key into a directory.
func writePair(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	public, private, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": public, "tls.key": private} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestServeUsage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	empty, occupied := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"now"}, []string{`unknown command "now"`}},
		{[]string{"--guard-default=refuse"}, []string{"--guard-default", "off, warn, deny"}},
		{[]string{"--certificates=vault"}, []string{"--certificates", "self-signed, files"}},
		{[]string{"--certificates=files"}, []string{"--certificates=files requires --cert-dir", "tls.crt and tls.key"}},
		{[]string{"--certificates=files", "--cert-dir=" + empty}, []string{filepath.Join(empty, "tls.crt"),
			"no such file", "--cert-dir"}},
		{[]string{"--cert-dir=" + occupied}, []string{"--cert-dir", occupied, "emptyDir"}},
		{[]string{"--port=0"}, []string{"--port=0", "1 to 65535"}},
		{[]string{"--port=65536"}, []string{"--port=65536", "1 to 65535"}},
		{[]string{"--bind-address=localhost"}, []string{`--bind-address="localhost"`, "IP address"}},
		{[]string{"--metrics-bind-address=8080"}, []string{`--metrics-bind-address="8080"`, ":PORT", "0 for none"}},
		{[]string{"--health-probe-bind-address=:x"}, []string{`--health-probe-bind-address=":x"`, "HOST:PORT"}},
		{[]string{"--shutdown-delay=-1s"}, []string{"--shutdown-delay=-1s", "0s or more"}},
		{[]string{"--cert-secret=Cert"}, []string{"--cert-secret", `"Cert"`, "lowercase"}},
		{[]string{"--service=a.b"}, []string{"--service", `"a.b"`}},
		{[]string{"--configuration="}, []string{"--configuration", `""`}},
		{[]string{"--release-namespaces=apps,*"}, []string{"--release-namespaces", `"*"`}},
		{[]string{"--extra-names=local host"}, []string{"--extra-names", `"local host"`}},
		{[]string{"--log-level=trace"}, []string{"--log-level", "info, debug"}},
		{[]string{"--request-timeout=1s"}, []string{"unknown flag: --request-timeout"}},
	} {
		_, err := runServe(t.Context(), append([]string{"--kubeconfig=" + unreachableServer(t)}, tc.args...)...)
		if err == nil {
			t.Errorf("%q: no error", tc.args)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %q does not contain %q", tc.args, err, want)
			}
		}
		var e *cli.Error // the root command turns errors of cobra into usage errors
		if errors.As(err, &e) && e.Status != cli.ExitUsage {
			t.Errorf("%q: status %d, want %d", tc.args, e.Status, cli.ExitUsage)
		}
	}
}

// unreachableServer returns the path of a kubeconfig with a server that does not exist.
func unreachableServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c",` +
		`"cluster":{"server":"http://127.0.0.1:1"}}],` +
		`"contexts":[{"name":"c","context":{"cluster":"c","namespace":"system"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServeUnconfigured checks that serve requires a kubeconfig or a service account.
func TestServeUnconfigured(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := runServe(t.Context(), "--cert-dir="+t.TempDir())
	var e *cli.Error
	if !errors.As(err, &e) || e.Status != cli.ExitFailed ||
		!strings.Contains(err.Error(), "no kubeconfig with a context was found") ||
		!strings.Contains(e.Hint, "--kubeconfig") {
		t.Errorf("got error %v, %+v", err, e)
	}
}

// TestServePort checks that the hint names the flag of an address that is in use.
func TestServePort(t *testing.T) {
	l := occupy(t)
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for flag, value := range map[string]string{"--port": port, "--metrics-bind-address": l.Addr().String(),
		"--health-probe-bind-address": l.Addr().String()} {
		args, _ := freeAddresses(t)
		_, err := runServe(t.Context(), append(args, "--kubeconfig="+unreachableServer(t), "--certificates=files",
			"--cert-dir="+writePair(t), flag+"="+value)...)
		var e *cli.Error
		if !errors.As(err, &e) || e.Status != cli.ExitFailed || !strings.Contains(e.Hint, flag) ||
			!strings.Contains(e.Error(), l.Addr().String()) {
			t.Errorf("%s: got error %v, %+v", flag, err, e)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestServeUnreachable checks that serve without a cluster is not ready, and ends with its context. The log is JSON.
func TestServeUnreachable(t *testing.T) {
	args, probes := freeAddresses(t)
	ctx, end := context.WithCancel(t.Context())
	type result struct {
		logged string
		err    error
	}
	ended := make(chan result, 1)
	go func() {
		logged, err := runServe(ctx, append(args, "--kubeconfig="+unreachableServer(t), "--certificates=files",
			"--cert-dir="+writePair(t), "--shutdown-delay=10ms", "--log-level=debug")...)
		ended <- result{logged, err}
	}()
	awaitProbe(t, "http://"+probes+"/livez", http.StatusOK)
	awaitProbe(t, "http://"+probes+"/readyz", http.StatusInternalServerError)
	end()
	r := <-ended
	if r.err != nil {
		t.Error(r.err)
	}
	lines := strings.Split(strings.TrimSpace(r.logged), "\n")
	for _, line := range lines {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" {
			t.Errorf("invalid line of the log: %q", line)
		}
	}
	if !strings.Contains(r.logged, `"msg":"drained"`) {
		t.Errorf("the log does not report the end: %s", r.logged)
	}
}

// TestServeSelfSigned checks serve with a real API server, without its Secret and with it.
func TestServeSelfSigned(t *testing.T) {
	c := cluster.Start(t)
	// A process can rotate the certificate of a Secret only once. With -count, it runs this test several times.
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	absent, present := "absent-"+run, "present-"+run
	if err := c.Client().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: present}}); err != nil {
		t.Fatal(err)
	}
	config := "--kubeconfig=" + c.Kubeconfig(t)
	args, _ := freeAddresses(t)
	_, err := runServe(t.Context(), append(args, config, "--cert-dir="+t.TempDir(), "--cert-secret="+absent)...)
	var e *cli.Error
	if !errors.As(err, &e) || e.Status != cli.ExitFailed || !strings.Contains(e.Hint, strconv.Quote(absent)) ||
		!strings.Contains(e.Hint, "--cert-secret") {
		t.Errorf("without the Secret: got error %v, %+v", err, e)
	}
	args, probes := freeAddresses(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := runServe(ctx, append(args, config, "-n", "default", "--cert-dir="+t.TempDir(),
			"--cert-secret="+present, "--shutdown-delay=10ms")...)
		ended <- err
	}()
	awaitProbe(t, fmt.Sprintf("http://%s/readyz", probes), http.StatusOK)
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
