// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real Kubernetes control plane (etcd and kube-apiserver, no controllers, no nodes) for tests
// and benchmarks, and fills it as Fleet would: with Fleet's kinds, with Helm releases that have the ownership metadata
// of Fleet's agent, and with captured clusters.
//
// The module in test/apiserver builds the binaries if they do not exist yet; only Go modules are downloaded.
// KUBEBUILDER_ASSETS selects other binaries, and KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT=true shows their output.
package cluster

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"
)

// processTimeout is an emergency stop for the start and the stop of one process. Both take a few seconds; a machine
// that compiles at the same time needs more.
const processTimeout = 5 * time.Minute

//go:embed crds/*.yaml
var fleetCRDs embed.FS

// Cluster is one running control plane. Its methods may be called from several goroutines.
type Cluster struct {
	env    *envtest.Environment
	client client.Client
	users  sync.Mutex // signing certificates is not safe for concurrent use
}

// Option changes how a control plane is started.
type Option func(*envtest.Environment) error

// WithFleetCRDs serves the kinds of fleet.cattle.io/v1alpha1 that an audit reads. They accept any content.
func WithFleetCRDs() Option {
	return func(env *envtest.Environment) error {
		files, err := fleetCRDs.ReadDir("crds")
		if err != nil {
			return fmt.Errorf("listing Fleet's CRDs: %w", err)
		}
		for _, file := range files {
			content, err := fleetCRDs.ReadFile("crds/" + file.Name())
			if err != nil {
				return fmt.Errorf("reading %s: %w", file.Name(), err)
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(content, crd); err != nil {
				return fmt.Errorf("decoding %s: %w", file.Name(), err)
			}
			env.CRDs = append(env.CRDs, crd)
		}
		return nil
	}
}

// WithCRDs installs the CustomResourceDefinitions of these files or directories.
func WithCRDs(paths ...string) Option {
	return func(env *envtest.Environment) error {
		env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, paths...)
		return nil
	}
}

// WithAPIServerFlag passes --name=value to kube-apiserver, once for each value, in place of the default.
func WithAPIServerFlag(name string, values ...string) Option {
	return func(env *envtest.Environment) error {
		env.ControlPlane.GetAPIServer().Configure().Set(name, values...)
		return nil
	}
}

// Start runs a control plane for one test or benchmark and stops it at the end of the test.
func Start(tb testing.TB, opts ...Option) *Cluster {
	tb.Helper()
	c, err := New(tb.Context(), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// Run is the body of a TestMain for tests that share one control plane: it starts the control plane, sets *shared, runs
// the tests, stops the control plane and returns the exit status.
//
//	var shared *cluster.Cluster
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Run(m, &shared, cluster.WithFleetCRDs())) }
func Run(m *testing.M, shared **Cluster, opts ...Option) int {
	c, err := New(context.Background(), opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*shared = c
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// New runs a control plane for a program that is not a test; ctx limits the build of its binaries. The caller must
// stop it.
func New(ctx context.Context, opts ...Option) (*Cluster, error) {
	// Without a logger, controller-runtime prints a stack trace during some test.
	log.SetLogger(logr.Discard())
	dir, err := assets(ctx)
	if err != nil {
		return nil, err
	}
	env, err := environment(dir, opts)
	if err != nil {
		return nil, err
	}
	return start(env)
}

func start(env *envtest.Environment) (*Cluster, error) {
	config, err := env.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop())
	}
	// Tests must not wait for a rate limit of the client.
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating a client: %w", err), env.Stop())
	}
	return &Cluster{env: env, client: c}, nil
}

// Attach uses a control plane that runs: the API server of a kubeconfig. It installs the CustomResourceDefinitions of
// the options there. Stop leaves everything as it is.
func Attach(kubeconfig string, opts ...Option) (*Cluster, error) {
	log.SetLogger(logr.Discard()) // as in New
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading a kubeconfig: %w", err)
	}
	env, err := environment("", opts)
	if err != nil {
		return nil, err
	}
	existing := true
	env.UseExistingCluster, env.Config = &existing, config
	return start(env)
}

// Stop ends the processes of the control plane and removes their data.
func (c *Cluster) Stop() error {
	if err := c.env.Stop(); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

// environment describes the control plane with the binaries in dir.
func environment(dir string, opts []Option) (*envtest.Environment, error) {
	existing := false // ignores USE_EXISTING_CLUSTER: tests write and delete
	env := &envtest.Environment{
		UseExistingCluster:       &existing,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: processTimeout,
		ControlPlaneStopTimeout:  processTimeout,
		CRDInstallOptions: envtest.CRDInstallOptions{PollInterval: 20 * time.Millisecond,
			MaxTime: processTimeout},
	}
	// These paths take precedence over the environment variables that envtest reads.
	env.ControlPlane.Etcd = &envtest.Etcd{Path: filepath.Join(dir, "etcd")}
	env.ControlPlane.KubectlPath = filepath.Join(dir, "kubectl")
	server := env.ControlPlane.GetAPIServer()
	server.Path = filepath.Join(dir, "kube-apiserver")
	server.Configure().
		// Without this, the server does not start on a machine without a network.
		Set("advertise-address", "127.0.0.1").
		Set("endpoint-reconciler-type", "none").
		// The default range has 254 addresses; benchmarks create thousands of Services.
		Set("service-cluster-ip-range", "10.96.0.0/16")
	for _, opt := range opts {
		if err := opt(env); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// Config returns a client configuration of the administrator, without a rate limit. The caller may change it.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.env.Config) }

// Client returns an administrator's client for objects of any kind. Writes name their field manager with
// client.FieldOwner, or all at once through client.WithFieldOwner.
func (c *Cluster) Client() client.Client { return c.client }

// Kubectl returns the path of a kubectl of the server's version.
func (c *Cluster) Kubectl() string { return c.env.ControlPlane.KubectlPath }

// Kubeconfig returns the path of an administrator's kubeconfig, which is deleted at the end of the test.
func (c *Cluster) Kubeconfig(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := c.WriteKubeconfig(path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// WriteKubeconfig writes an administrator's kubeconfig to a file.
func (c *Cluster) WriteKubeconfig(path string) error {
	if err := os.WriteFile(path, c.env.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}

// UserKubeconfig returns the path of a kubeconfig of a user with only the permissions that RBAC grants to the user
// or the groups.
func (c *Cluster) UserKubeconfig(tb testing.TB, user string, groups ...string) string {
	tb.Helper()
	c.users.Lock()
	added, err := c.env.AddUser(envtest.User{Name: user, Groups: groups}, nil)
	c.users.Unlock()
	if err != nil {
		tb.Fatalf("adding user %q: %v", user, err)
	}
	content, err := added.KubeConfig()
	if err != nil {
		tb.Fatalf("encoding the kubeconfig of %q: %v", user, err)
	}
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatalf("writing the kubeconfig of %q: %v", user, err)
	}
	return path
}
