// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// shared is the control plane of the tests that need one.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	if url := os.Getenv(syncOf); url != "" {
		if err := coldSync(url, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(cluster.Run(m, &shared))
}
