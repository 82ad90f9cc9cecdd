// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// emergency is the time limit for a program that hangs. A program that ends as expected needs less than a second on
// most machines.
const emergency = 5 * time.Minute

// obstacle is a command line that makes the program wait for an event that never occurs.
type obstacle struct {
	args []string
	env  []string
	// reached returns when the program waits.
	reached func()
	// left returns when all processes that the program started have ended. It is nil if the program starts none.
	left func()
}

// TestInterrupt checks that the first SIGINT ends the program in every kind of wait.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*testing.T) obstacle{
		"a kubeconfig that is a FIFO": func(t *testing.T) obstacle {
			t.Helper()
			path, reached := fifo(t, filepath.Join(t.TempDir(), "kubeconfig"))
			return obstacle{args: []string{"audit", "--kubeconfig", path}, reached: reached}
		},
		"a KUBECONFIG that is a FIFO": func(t *testing.T) obstacle {
			t.Helper()
			path, reached := fifo(t, filepath.Join(t.TempDir(), "kubeconfig"))
			return obstacle{args: []string{"webhook", "status"}, env: []string{"KUBECONFIG=" + path}, reached: reached}
		},
		"a receipt that is a FIFO": func(t *testing.T) obstacle {
			t.Helper()
			path, reached := fifo(t, filepath.Join(t.TempDir(), "receipt"))
			return obstacle{args: []string{"adopt", "--undo", path, "--server", "http://127.0.0.1:1"}, reached: reached}
		},
		"a credential plugin": plugin,
		"a TLS handshake": func(t *testing.T) obstacle {
			t.Helper()
			address, reached := unresponsive(t)
			return obstacle{args: []string{"audit", "--server", "https://" + address}, reached: reached}
		},
		"headers": func(t *testing.T) obstacle {
			t.Helper()
			address, reached := endless(t, func(http.ResponseWriter, *http.Request) {})
			return obstacle{args: []string{"owner", "deploy/a", "--server", address}, reached: reached}
		},
		"a response body that never ends": func(t *testing.T) obstacle {
			t.Helper()
			address, reached := endless(t, func(w http.ResponseWriter, r *http.Request) {
				drop := time.NewTicker(10 * time.Millisecond)
				defer drop.Stop()
				for r.Context().Err() == nil {
					_, _ = w.Write([]byte(" ")) // until the client closes the connection
					_ = http.NewResponseController(w).Flush()
					<-drop.C
				}
			})
			return obstacle{args: []string{"audit", "--server", address}, reached: reached}
		},
		"a read of the webhook's objects": func(t *testing.T) obstacle {
			t.Helper()
			asked := make(chan struct{})
			var once sync.Once
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.URL.Path, "/clusterrolebindings/") {
					http.Error(w, "no", http.StatusForbidden)
					return
				}
				once.Do(func() { close(asked) })
				<-r.Context().Done()
			}))
			t.Cleanup(s.Close)
			return obstacle{args: []string{"webhook", "status", "--server", s.URL}, reached: func() { <-asked }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			interrupt(t, at(t))
		})
	}
}

func interrupt(t *testing.T, o obstacle) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), emergency)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, o.args...)
	cmd.WaitDelay = emergency // a plugin that still runs keeps standard error open
	cmd.Env = append([]string{asProgram + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, o.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, reached := make(chan error, 1), make(chan struct{})
	go func() { ended <- cmd.Wait() }()
	go func() { o.reached(); close(reached) }()
	select {
	case err := <-ended:
		t.Fatalf("the program does not wait: %v, stdout %q, stderr %q", err, stdout.String(), stderr.String())
	case <-reached:
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = <-ended
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the program ended with %v", err)
	}
	if stdout.Len() > 0 || stderr.String() != "interrupted: nothing was printed\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
	if o.left != nil {
		o.left()
	}
}

// fifo makes an empty FIFO. reached returns when the program has opened it to read.
func fifo(t *testing.T, path string) (_ string, reached func()) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		writer, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = writer.Close() }) // nothing was written, so no error is possible
	}
}

// plugin returns a credential plugin that never ends, like a plugin that waits for a login.
func plugin(t *testing.T) obstacle {
	t.Helper()
	dir := t.TempDir()
	started, kubeconfig := filepath.Join(dir, "started"), filepath.Join(dir, "kubeconfig")
	never, _ := fifo(t, filepath.Join(dir, "never"))
	t.Cleanup(func() { // ends a plugin that still runs
		if writer, err := os.OpenFile(never, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_, _ = writer.WriteString("\n")
			_ = writer.Close()
		}
	})
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("exec 3> %s; echo started >&3; read -r line < %s; echo late >&3", started, never)
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a",
"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],
"clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],
"users":[{"name":"a","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"sh","args":["-c",%q],
"interactiveMode":"Never"}}}]}`, script)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var reader *os.File
	return obstacle{
		args: []string{"audit", "--kubeconfig", kubeconfig},
		reached: func() {
			var err error
			if reader, err = os.Open(started); err == nil { // waits until the plugin opens the FIFO
				_, err = reader.Read(make([]byte, 100))
			}
			if err != nil {
				t.Error(err)
			}
		},
		left: func() {
			defer func() { _ = reader.Close() }() // the file was only read
			if runtime.GOOS != "linux" {
				return
			}
			if err := reader.SetReadDeadline(time.Now().Add(emergency)); err != nil {
				t.Error(err)
			}
			// the end of the file is the end of the plugin
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("the plugin still runs: %q, %v", rest, err)
			}
		},
	}
}

// unresponsive is a server that accepts connections and never answers.
func unresponsive(t *testing.T) (address string, reached func()) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() }) // the program has ended
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
}

// endless is a server that accepts requests and never completes its responses.
func endless(t *testing.T, answer http.HandlerFunc) (url string, reached func()) {
	t.Helper()
	requested := make(chan struct{})
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(requested) })
		answer(w, r)
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s.URL, func() { <-requested }
}
