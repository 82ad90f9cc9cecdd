// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// serveAlone is an environment variable. If it is set, this program serves admission requests until its input ends, and
// writes its address and its peak of resident memory.
const serveAlone = "FLEETDOCTOR_TEST_SERVE_ALONE"

func TestMain(m *testing.M) {
	if os.Getenv(serveAlone) != "" {
		if err := serveUntilEnd(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type fixedCertificate struct{ tls.Certificate }

func (c fixedCertificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return &c.Certificate, nil
}
func (fixedCertificate) Start(context.Context) error { return nil }
func (fixedCertificate) Failures() float64           { return 0 }

func serveUntilEnd(in io.Reader, out io.Writer) error {
	public, private, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", nil, nil, "")
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		return err
	}
	handlers := map[string]admission.Handler{StampPath: admission.HandlerFunc(allow)}
	s, err := transport.Endpoint{Name: Requests, Address: "127.0.0.1:0",
		Handler: requestsHandler(handlers, func() bool { return false }, logr.Discard()),
		TLS:     requestsTLS(fixedCertificate{pair}), Limits: limitsOf(maxConnections)}.Listen()
	if err != nil {
		return err
	}
	s.ErrorLog = log.New(io.Discard, "", 0)
	served := make(chan error, 1)
	go func() { served <- s.Serve(s.Listener) }()
	if _, err := fmt.Fprintln(out, s.Listener.Addr()); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Fprintln(out, strings.Fields(peak)[0]); err != nil {
		return err
	}
	return errors.Join(s.Close(), ignoreClosed(<-served))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// The attacks send what net/http or crypto/tls keep in memory while they wait for the rest. They ignore that the server
// closes the connection.
var attacks = map[string]func(net.Conn){
	"nothing": func(net.Conn) {},
	"headers of 900 KB": func(c net.Conn) {
		_, _ = io.WriteString(tls.Client(c, &tls.Config{InsecureSkipVerify: true}),
			"POST /stamp HTTP/1.1\r\nX: "+strings.Repeat("x", 900_000))
	},
	"short headers": func(c net.Conn) {
		var text strings.Builder
		text.WriteString("POST /stamp HTTP/1.1\r\n")
		for i := 0; text.Len() < maxHeader+4<<10-16; i++ {
			_, _ = fmt.Fprintf(&text, "%c%c:\n", 'A'+i%26, 'a'+i/26%26)
		}
		_, _ = io.WriteString(tls.Client(c, &tls.Config{InsecureSkipVerify: true}), text.String())
	},
	"reviews of 1 MiB": func(c net.Conn) {
		body := `{"request":{"userInfo":{"groups":[` + strings.TrimSuffix(strings.Repeat(`"",`, maxUsual/3-100),
			",") + `]}}}`
		_, _ = fmt.Fprintf(tls.Client(c, &tls.Config{InsecureSkipVerify: true}),
			"POST /stamp HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body)
	},
	"a ClientHello of 64 KiB": func(c net.Conn) {
		hello := append([]byte{1, 0, 0xff, 0xff}, make([]byte, 0xfff0)...) // it is incomplete
		for len(hello) > 0 {
			part := hello[:min(len(hello), 1<<14)]
			hello = hello[len(part):]
			_, _ = c.Write(append([]byte{22, 3, 1, byte(len(part) >> 8), byte(len(part))}, part...))
		}
	},
}

// BenchmarkAttacks measures the peak of resident memory of the endpoint for admission requests, in a process of its
// own, while two clients together open 2,000 connections. A third client sends reviews at the same time: it measures
// the slowest answer, and counts reviews without an answer. All of them share the processors.
func BenchmarkAttacks(b *testing.B) {
	for name, attack := range attacks {
		b.Run(name, func(b *testing.B) {
			var peak, slowest, late float64
			for b.Loop() {
				p, s, l := attacked(b, attack)
				peak, slowest, late = max(peak, p), max(slowest, s), late+l
			}
			b.ReportMetric(peak, "MiB-rss-peak")
			b.ReportMetric(slowest, "ms-slowest-answer")
			b.ReportMetric(late, "unanswered")
		})
	}
}

func attacked(b *testing.B, attack func(net.Conn)) (peak, slowest, late float64) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self)
	cmd.Env = append(os.Environ(), serveAlone+"=yes", "GOMEMLIMIT=460MiB") // as in the manifests
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	out := bufio.NewScanner(output)
	out.Scan()
	address := out.Text()

	var clients sync.WaitGroup
	for i := range 2000 {
		clients.Go(func() {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%2))}}
			c, err := dialer.DialContext(b.Context(), "tcp", address)
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(2 * readTimeout))
			attack(c)
			_, _ = io.Copy(io.Discard, c) // until the server closes it
			_ = c.Close()
		})
	}
	client := insecure()
	for end := time.Now().Add(readTimeout); time.Now().Before(end); {
		start := time.Now()
		r, err := client.Post("https://"+address+StampPath, "application/json", strings.NewReader(review))
		if err != nil {
			// the attack uses the processors, and the server closes a connection without a handshake after readTimeout
			late++
			continue
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		slowest = max(slowest, float64(time.Since(start).Microseconds())/1000)
	}
	clients.Wait()
	_ = in.Close()
	out.Scan()
	if _, err := fmt.Sscan(out.Text(), &peak); err != nil {
		b.Fatalf("the peak of memory is %q: %v", out.Text(), err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return peak / 1024, slowest, late
}
