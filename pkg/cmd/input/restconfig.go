// SPDX-License-Identifier: Apache-2.0

// Package input has the flags that name the source of a verb's data, a cluster or a snapshot. It opens the source,
// suggests commands that read the same source, and adds hints to errors of reading it.
package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// RESTConfig returns the client configuration that results from the command line and the kubeconfig. Its address has no
// credentials. The hint is for a kubeconfig that cannot be loaded. Warnings of the API server are dropped. Its errors
// are cli.Errors.
func (f *Flags) RESTConfig(hint string) (*rest.Config, error) {
	if server := *f.Config.APIServer; server != "" && escape.Address(server) == escape.NoAddress {
		return nil, &cli.Error{Status: cli.ExitFailed,
			Err: errors.New("parsing --server: it is not a URL like https://HOST:PORT")}
	}
	if err := CheckKubeconfig(f.Config); err != nil {
		return nil, cli.Failure(err, hint)
	}
	config, err := f.Config.ToRESTConfig()
	if err == nil {
		err = HideCredentials(config)
	}
	if err != nil {
		return nil, cli.Failure(fmt.Errorf("loading the kubeconfig: %w", err), hint)
	}
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	return config, nil
}

// CheckKubeconfig returns an error if nothing names a cluster: no flag, no context of a kubeconfig, and no pod in
// which the program runs. client-go would connect to localhost:8080. Other errors of the kubeconfig are left to
// client-go.
func CheckKubeconfig(flags *genericclioptions.ConfigFlags) error {
	_, notInPod := rest.InClusterConfig()
	if *flags.APIServer != "" || os.Getenv("KUBERNETES_MASTER") != "" || notInPod == nil {
		return nil
	}
	namesCluster := flags.ClusterName != nil && *flags.ClusterName != ""
	if *flags.Context != "" || namesCluster {
		return nil
	}
	kubeconfig, err := flags.ToRawKubeConfigLoader().RawConfig()
	switch contexts := slices.Sorted(maps.Keys(kubeconfig.Contexts)); {
	case err == nil && kubeconfig.CurrentContext == "" && len(contexts) > 0:
		return fmt.Errorf("no current context: %s; contexts: %s", places(flags), strings.Join(contexts, ", "))
	case err == nil && kubeconfig.CurrentContext == "":
		return fmt.Errorf("no kubeconfig with a context was found: %s", places(flags))
	}
	return nil
}

// places are the files in which a kubeconfig is looked for, and what names them.
func places(flags *genericclioptions.ConfigFlags) string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	from, files := "", rules.GetLoadingPrecedence()
	switch {
	case *flags.KubeConfig != "":
		from, files = ", from --kubeconfig", []string{*flags.KubeConfig}
	case os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "":
		from = ", from " + clientcmd.RecommendedConfigPathEnvVar
	}
	for i, file := range files {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			files[i] += " (does not exist)"
		}
	}
	return "looked in " + strings.Join(files, " and ") + from
}

// HideCredentials moves user and password from the address to the fields that client-go has for them, and drops a
// query, which client-go does not send. Libraries quote the address in their errors. A user in the address is ignored
// if the configuration has another credential for the header Authorization.
func HideCredentials(config *rest.Config) error {
	shown := escape.Address(config.Host)
	switch shown {
	case config.Host:
		return nil
	case escape.NoAddress:
		return errors.New("parsing the address of the cluster's server: it is not a URL like https://HOST:PORT")
	}
	full := config.Host
	if !strings.Contains(full, "://") {
		full = "https://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return errors.New("parsing the address of the cluster's server") // not err, which quotes it
	}
	stated := cmp.Or(config.Username, config.BearerToken, config.BearerTokenFile) != ""
	authorized := stated || config.ExecProvider != nil || config.AuthProvider != nil
	if u.User != nil && !authorized {
		config.Username = u.User.Username()
		config.Password, _ = u.User.Password()
	}
	config.Host = shown
	return nil
}

// Open opens the source. The Cluster is the same source if it is a live one, nil for a snapshot. Open makes no request.
//
// Its errors are cli.Errors if the command line or the kubeconfig is wrong, and those of cmd.Open.
func (f *Flags) Open(ctx context.Context) (source.Source, *cluster.Cluster, error) {
	if f.Captured() {
		s, err := f.snapshot(ctx)
		if err != nil {
			return nil, nil, err // not s: a nil pointer in an interface is not nil
		}
		return s, nil, nil
	}
	c, err := f.cluster()
	if err != nil {
		return nil, nil, err
	}
	return c, c, nil
}

func (f *Flags) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if name := f.connection(); name != "" {
		return nil, cli.UsageError(fmt.Errorf("--snapshot and --%s are mutually exclusive: a snapshot needs no "+
			"cluster", name))
	}
	if slices.Contains(f.Snapshots, "") { // usually the value of a shell variable that is not set
		return nil, cli.UsageError(errors.New("--snapshot is empty: it must name a folder or a file"))
	}
	if i := slices.Index(f.Snapshots, "-"); i >= 0 && slices.Contains(f.Snapshots[i+1:], "-") {
		return nil, cli.UsageError(errors.New("--snapshot - is given twice: standard input can only be read once"))
	}
	return snapshot.Open(ctx, f.Snapshots, f.Streams.In)
}

func (f *Flags) cluster() (*cluster.Cluster, error) {
	if _, err := clientcmd.ParseTimeout(*f.Config.Timeout); err != nil {
		return nil, cli.UsageError(fmt.Errorf("parsing --request-timeout %q: it must be a number of seconds, or a "+
			"number with a unit, such as 30s or 2m", *f.Config.Timeout))
	}
	config, err := f.RESTConfig("Name a kubeconfig with --kubeconfig or KUBECONFIG, or a context with --context, or " +
		"read a snapshot with --snapshot.")
	if err != nil {
		return nil, err
	}
	name := *f.Config.Context
	if raw, err := f.Config.ToRawKubeConfigLoader().RawConfig(); err == nil && name == "" {
		name = raw.CurrentContext
	}
	return cluster.New(config, cluster.Options{Context: name, Now: f.Now, ReadOnly: f.ReadOnly})
}

// connection is the first flag on the command line that configures the connection to a cluster, "" without one. Beside
// a snapshot, --context configures none: it names the captured cluster in commands.
func (f *Flags) connection() string {
	first := ""
	ConnectionFlags().VisitAll(func(flag *pflag.Flag) {
		// it names a cluster to read in addition
		clusters := flag.Name == "cluster" && (f.Config.ClusterName == nil || *f.Config.ClusterName == "")
		if clusters || flag.Name == "context" {
			return
		}
		if first == "" && f.Changed(flag.Name) {
			first = flag.Name
		}
	})
	return first
}

// Reading is an opened source, with the progress line that is shown while it is read.
type Reading struct {
	Source source.Source
	// Cluster is the same source if it is a live one, nil for a snapshot.
	Cluster *cluster.Cluster
	*output.Progress
}

// Report shows the progress of an audit.
func (r *Reading) Report(p collect.Progress) { r.Show(p.Doing, p.Objects) }

// Start opens the source and shows a progress line. The caller must clear the line, and pass errors to Explain.
func (f *Flags) Start(ctx context.Context) (*Reading, error) {
	r := &Reading{Progress: f.StartProgress()}
	var err error
	if r.Source, r.Cluster, err = f.Open(ctx); err != nil {
		r.Clear()
		return nil, f.Explain(err)
	}
	return r, nil
}

// Read opens the source, shows a progress line while read runs, and adds a hint to the error.
func (f *Flags) Read(ctx context.Context, read func(*Reading) error) error {
	r, err := f.Start(ctx)
	if err != nil {
		return err
	}
	defer r.Clear()
	return f.Explain(read(r))
}

// StartProgress starts a progress line on standard error. Clear must be called.
func (f *Flags) StartProgress() *output.Progress {
	doing := "connecting to the cluster"
	if f.Captured() {
		doing = "reading the snapshot"
	}
	if f.NoProgress {
		return output.StartProgress(nil, doing)
	}
	return output.StartProgress(f.Streams.ErrOut, doing)
}

// ReadFile reads a file of at most that many bytes.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ReadLimited(name, f, most)
}

// ReadLimited reads a stream of at most that many bytes. name is for the error.
func ReadLimited(name string, in io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case int64(len(content)) > most:
		return nil, fmt.Errorf("reading %s: it has more than %d MiB", name, most>>20)
	}
	return content, nil
}
