// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// pipe makes a FIFO.
func pipe(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPlugin checks that a request ends with its context while a credential plugin runs.
func TestPlugin(t *testing.T) {
	t.Parallel()
	started, end := pipe(t, "started"), pipe(t, "end")
	config := &rest.Config{Host: "http://127.0.0.1:1",
		ExecProvider: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1",
			Command: "sh", Args: []string{"-c", `echo > "$0"; read -r line < "$1"`, started, end},
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
	c := client(t, config, transport.Bounds{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = os.ReadFile(started) // returns when the plugin has written
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
	if err := os.WriteFile(end, []byte("end\n"), 0); err != nil { // the plugin ends
		t.Error(err)
	}
}
