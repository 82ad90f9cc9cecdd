// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the program against a real API server as users do, with a kubeconfig and arguments, and checks its
// output and exit status.
//
// Most tests run one after the other and share a server. Each of them creates the Fleet that it needs and deletes it at
// its end, so that each audit finds only the objects of its own test. Slow tests have a server of their own, and run in
// parallel after the others.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// shared is a management cluster: it serves Fleet's kinds.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cmd.Main(context.Background(), os.Args, cli.Environment{Pause: noPause,
			Streams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}}))
	}
	dir, err := os.MkdirTemp("", "fleetdoctor-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	options, err := withAuditLog()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := cluster.Run(m, &shared, append(options, cluster.WithFleetCRDs())...)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// asProgram is the variable with which the executable of the tests is the program, except that it does not pause. A
// shell can run it.
const asProgram = "FLEETDOCTOR_E2E_AS_PROGRAM"

// result is the result of one run of the program.
type result struct {
	status         int
	stdout, stderr string
	// report is nil if none was printed.
	report *report.Audit
}

// run runs the program with these arguments.
func run(ctx context.Context, t *testing.T, args ...string) result {
	t.Helper()
	return runWith(ctx, t, cli.Environment{}, args...)
}

// runWith runs the program in another environment.
func runWith(ctx context.Context, t *testing.T, env cli.Environment, args ...string) result {
	t.Helper()
	if env.Pause == nil {
		env.Pause = noPause
	}
	var stdout, stderr bytes.Buffer
	env.Streams = genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr}
	status := cmd.Main(ctx, append([]string{"kubectl-fleetdoctor"}, args...), env)
	return result{status: status, stdout: stdout.String(), stderr: stderr.String()}
}

// noPause is a pause that does not wait: no Fleet runs here that could change a status.
func noPause(context.Context) error { return nil }

// audit runs an audit with a kubeconfig and decodes its report.
func audit(t *testing.T, kubeconfig string, args ...string) result {
	t.Helper()
	return auditWith(t, cli.Environment{}, kubeconfig, args...)
}

// auditWith runs an audit in another environment.
func auditWith(t *testing.T, env cli.Environment, kubeconfig string, args ...string) result {
	t.Helper()
	r := runWith(t.Context(), t, env, append([]string{"audit", "--kubeconfig", kubeconfig, "-o", "json"}, args...)...)
	if r.stdout == "" {
		return r
	}
	r.report = &report.Audit{}
	if err := json.Unmarshal([]byte(r.stdout), r.report); err != nil {
		t.Fatalf("the output of audit is not a report: %v\n%s", err, r.stdout)
	}
	return r
}
