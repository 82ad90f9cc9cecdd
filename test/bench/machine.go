// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// machine describes the machine, the versions and the time of a measurement.
type machine struct {
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes,omitempty"` // 0 if not known
	Platform    string `json:"platform"`
	Go          string `json:"go"`
	Server      string `json:"server"`
	Kubectl     string `json:"kubectl"`
	Taken       string `json:"taken"` // RFC 3339
}

func machineOf(ctx context.Context, c *cluster.Cluster, now time.Time) (machine, error) {
	m := machine{Cores: runtime.NumCPU(), MemoryBytes: memory(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Go:    runtime.Version(),
		Taken: now.UTC().Format(time.RFC3339)}
	d, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		return m, fmt.Errorf("creating a discovery client: %w", err)
	}
	server, err := d.ServerVersion()
	if err != nil {
		return m, fmt.Errorf("reading the server's version: %w", err)
	}
	_, out, err := execute(ctx, c.Kubectl(), "version", "--client", "-o", "json")
	if err != nil {
		return m, err
	}
	var kubectl struct{ ClientVersion struct{ GitVersion string } }
	if err := json.Unmarshal(out, &kubectl); err != nil {
		return m, fmt.Errorf("reading kubectl's version: %w", err)
	}
	m.Server, m.Kubectl = server.GitVersion, kubectl.ClientVersion.GitVersion
	return m, nil
}

// memory returns the size of the memory in bytes, or 0 if it is not known.
func memory() int64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kib int64
	if _, err := fmt.Sscanf(string(content), "MemTotal: %d kB", &kib); err != nil {
		return 0
	}
	return kib << 10
}
