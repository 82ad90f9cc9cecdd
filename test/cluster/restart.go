// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// WithCertDir keeps the certificates of kube-apiserver in a directory. Without it, they are deleted with the
// process, and clients do not trust the next one.
func WithCertDir(dir string) Option {
	return func(env *envtest.Environment) error {
		env.ControlPlane.GetAPIServer().CertDir = dir
		return nil
	}
}

// StopAPIServer stops kube-apiserver; etcd keeps running. The control plane must have been started with
// WithCertDir.
func (c *Cluster) StopAPIServer(tb testing.TB) {
	tb.Helper()
	if err := c.env.ControlPlane.GetAPIServer().Stop(); err != nil {
		tb.Fatalf("stopping kube-apiserver: %v", err)
	}
}

// StartAPIServer starts kube-apiserver again with the same address and data, and returns when it is ready.
func (c *Cluster) StartAPIServer(tb testing.TB) {
	tb.Helper()
	if err := c.env.ControlPlane.GetAPIServer().Start(); err != nil {
		tb.Fatalf("starting kube-apiserver: %v", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		tb.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(tb.Context(), 20*time.Millisecond, processTimeout, true,
		func(ctx context.Context) (bool, error) {
			return d.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
		})
	if err != nil {
		tb.Fatalf("waiting for kube-apiserver to be ready: %v", err)
	}
}
