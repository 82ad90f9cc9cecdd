// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// command runs a program in a directory, and returns its standard output.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// buildPrometheus builds Prometheus at the version in go.mod. Its pages need files that a module does not have; its API
// does not.
func buildPrometheus(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "prometheus")
	command(t, ".", "go", "build", "-o", program, "github.com/prometheus/prometheus/cmd/prometheus")
	return program
}

// buildAlertmanager builds Alertmanager at the version in go.mod, as a module of its own: it needs another version of a
// module than Prometheus. It embeds its pages, which are not in the module, so a copy of the module gets an empty page.
func buildAlertmanager(t *testing.T) string {
	t.Helper()
	var module struct{ Dir string }
	raw := command(t, ".", "go", "mod", "download", "-json", "github.com/prometheus/alertmanager")
	if err := json.Unmarshal([]byte(raw), &module); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "source"), filepath.Join(dir, "alertmanager")
	pages := filepath.Join(source, "ui", "app", "dist")
	if err := errors.Join(os.CopyFS(source, os.DirFS(module.Dir)), os.MkdirAll(pages, 0o755),
		os.WriteFile(filepath.Join(pages, "index.html"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	command(t, source, "go", "build", "-o", program, "./cmd/alertmanager")
	return program
}

// start runs a server in a new directory with a configuration until the end of the test, and returns its address as a
// URL.
func start(t *testing.T, program, configuration string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "configuration.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program,
		append([]string{"--config.file=" + file, "--web.listen-address=" + address}, flags...)...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		if text, err := os.ReadFile(log.Name()); t.Failed() || err != nil {
			t.Logf("%s: %v\n%s", filepath.Base(program), err, text)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	base := "http://" + address
	until(t, func() error { return get(t, base+"/-/ready", nil) })
	return base
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// deadline is an emergency stop: what a test waits for takes seconds.
const deadline = 3 * time.Minute

// until calls try until it returns no error.
func until(t *testing.T, try func() error) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	stop := time.After(deadline)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-stop:
			t.Fatal(err)
		}
	}
}

// get decodes the answer of a server; into may be nil.
func get(t *testing.T, address string, into any) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %s", address, answer.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// sample is one series of the answer to a query. Its value is a time and a number.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// query asks Prometheus for a vector.
func query(t *testing.T, prometheus, expression string) ([]sample, error) {
	t.Helper()
	var answer struct {
		Data struct {
			ResultType string   `json:"resultType"`
			Result     []sample `json:"result"`
		} `json:"data"`
	}
	err := get(t, prometheus+"/api/v1/query?query="+url.QueryEscape(expression), &answer)
	if err == nil && answer.Data.ResultType != "vector" {
		err = fmt.Errorf("%s: the result is a %s", expression, answer.Data.ResultType)
	}
	return answer.Data.Result, err
}
