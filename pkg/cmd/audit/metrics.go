// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/exported"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/prometheus"
)

const (
	metricsFlag   = "from-metrics"
	matchFlag     = metricsFlag + "-match"
	tokenFileFlag = metricsFlag + "-token-file"
	caFileFlag    = metricsFlag + "-ca-file"
	headerFlag    = metricsFlag + "-header"
)

// fromMetrics are the flags that read the metrics of auditors instead of a cluster.
type fromMetrics struct {
	prometheus.Options
	match   string
	headers []string
	flags   *pflag.FlagSet
}

func (m *fromMetrics) addFlags(fs *pflag.FlagSet) {
	m.flags = fs
	fs.StringVar(&m.URL, metricsFlag, "", "Read the metrics of the auditors of all clusters from this Prometheus, "+
		"Thanos or Mimir instead of a cluster: the URL before /api/v1, such as https://mimir.example/prometheus")
	fs.StringVar(&m.match, matchFlag, "", "Read only the auditors with these labels, as in PromQL: 'fleet=\"prod\"'")
	fs.StringVar(&m.TokenFile, tokenFileFlag, "", "File with the bearer token for --"+metricsFlag)
	fs.StringVar(&m.CAFile, caFileFlag, "", "File with the certificate authorities for --"+metricsFlag)
	fs.StringArrayVar(&m.headers, headerFlag, nil, "Header for --"+metricsFlag+
		", such as X-Scope-OrgID=TENANT. May be repeated")
}

// enabled reports whether metrics are read.
func (m *fromMetrics) enabled() bool { return m.flags.Changed(metricsFlag) }

// usable are the other flags that have a meaning for metrics.
var usable = []string{metricsFlag, matchFlag, tokenFileFlag, caFileFlag, headerFlag, "all", "all-namespaces",
	"allow-missing-template-keys", "baseline", "by", "code", "color", "fail-on", "ignore-file", "no-headers",
	"no-pager", "output", "quiet", "require-complete", "rows", "severity", "sort-by", "summary", "template", "watch",
	"watch-interval"}

// check refuses flags and arguments that have no meaning. It parses the others.
func (m *fromMetrics) check(args []string) error {
	if !m.enabled() {
		for _, name := range []string{matchFlag, tokenFileFlag, caFileFlag, headerFlag} {
			if m.flags.Changed(name) {
				return fmt.Errorf("--%s requires --%s", name, metricsFlag)
			}
		}
		return nil
	}
	if len(args) > 0 {
		return fmt.Errorf("--%s and %q are mutually exclusive: metrics are read of all bundles", metricsFlag, args[0])
	}
	var err error
	m.flags.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(usable, f.Name) {
			err = fmt.Errorf("--%s and --%s are mutually exclusive: only the metrics of auditors are read", metricsFlag,
				f.Name)
		}
	})
	if err != nil {
		return err
	}
	if err := checkAddress(m.URL); err != nil {
		return err
	}
	m.Header, err = parseHeaders(m.headers)
	return err
}

// checkAddress refuses an address that is not that of an API. The error does not quote credentials.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	shown := escape.Address(address)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme):
		return fmt.Errorf("parsing --%s %q: it must be a URL such as https://HOST:PORT/prometheus", metricsFlag, shown)
	case u.User != nil:
		return fmt.Errorf("--%s %s has a user or a password, which a list of processes shows: use --%s", metricsFlag,
			shown, tokenFileFlag)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("--%s %s has more than a path after the server: leave out what follows ? or #", metricsFlag,
			shown)
	}
	return nil
}

// parseHeaders parses NAME=VALUE.
func parseHeaders(headers []string) (http.Header, error) {
	out := http.Header{}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, "=")
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("parsing --%s: a header must be NAME=VALUE, such as X-Scope-OrgID=TENANT",
				headerFlag)
		case http.CanonicalHeaderKey(name) == "Authorization":
			return nil, fmt.Errorf("--%s Authorization has a credential, which a list of processes shows: use --%s",
				headerFlag, tokenFileFlag)
		}
		out.Add(name, value)
	}
	return out, nil
}

// ask sends the queries. Its errors have an exit status and a hint.
func (m *fromMetrics) ask(ctx context.Context, progress func(string, int)) (*exported.Answers, error) {
	client, err := prometheus.New(m.Options)
	if err != nil {
		return nil, exit.UsageError(fmt.Errorf("preparing the connection for --%s: %w", metricsFlag, err))
	}
	out := &exported.Answers{Server: escape.Address(m.URL)}
	for _, q := range exported.Queries(m.match) {
		progress("reading metrics", len(out.Series))
		series, warnings, err := client.Query(ctx, q, out.At)
		if err != nil {
			hint := fmt.Sprintf("Check the path in --%s, the token (--%s) and the tenant (--%s).", metricsFlag,
				tokenFileFlag, headerFlag)
			return nil, exit.Failure(fmt.Errorf("reading metrics from %s: %w", out.Server, err), hint)
		}
		for _, w := range warnings {
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
		if len(series) == 0 && out.At.IsZero() { // the first query
			return out, nil
		}
		if out.At.IsZero() {
			out.At = series[0].Timestamp.Time().UTC()
		}
		out.Series = append(out.Series, series...)
	}
	return out, nil
}

// audit makes the report of an audit from metrics. Its errors have an exit status and a hint.
func (m *fromMetrics) audit(ctx context.Context, version string, progress func(string, int)) (*report.Audit, error) {
	answers, err := m.ask(ctx, progress)
	if err != nil {
		return nil, err
	}
	answers.Version = version
	out, err := exported.Report(*answers)
	if err == nil {
		return out, nil
	}
	hint := "--" + matchFlag + " selects the auditors by their labels."
	if errors.Is(err, exported.ErrNoAuditor) {
		hint = check.Pages + "metrics.md describes what auditors export. --" + headerFlag + " selects the tenant."
	}
	return nil, exit.Failure(fmt.Errorf("reading metrics from %s: %w", answers.Server, err), hint)
}

// noResultOf returns the error of a report in which no bundle deployment has a result.
func noResultOf(a *report.Audit) error {
	if n := len(a.BundleDeployments); n > a.WithoutResult() || n == 0 && len(a.Gaps) == 0 {
		return nil
	}
	return fmt.Errorf("no bundle deployment has a result (%d are known): %s", len(a.BundleDeployments), a.GapText())
}

// undecidedOf says what may hide a problem in a report; empty if nothing.
func undecidedOf(a *report.Audit) string {
	if out := report.Undecided(a.Gaps); out != "" || a.Complete() {
		return out
	}
	return "objects are Unknown to the auditors of their clusters"
}
