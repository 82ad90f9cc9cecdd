// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Input is a bundle for one cluster.
type Input struct {
	// Name is the name of the Bundle and of its BundleDeployment.
	Name string
	// Resources are the files of the bundle, encoded as in the Bundle or the Content.
	Resources []v1alpha1.BundleResource
	// Options are the merged options for the cluster. Fleet's management cluster has already evaluated the templates in
	// them.
	Options v1alpha1.Options
	// Values is the key "values" of the Secret in which Fleet stores the values, as JSON. If it is nil, the values of
	// the options are used.
	Values []byte
	// ValuesHash is the one of the BundleDeployment. If it is set, that Secret exists, so nil Values are a gap.
	ValuesHash string
	// ValuesFrom are the texts of ValuesRefs(Options), by index. A text that is missing or nil is a gap.
	ValuesFrom [][]byte
	// PreviousValues are the values of the deployed revision that the rollout upgrades, as JSON. Helm uses them if the
	// bundle has no values.
	PreviousValues []byte
	// Commit is the Git commit in a label of the BundleDeployment. It is part of the version of a generated chart.
	Commit string
	// SetID is the set id in the ownership metadata: fleet.SetID of the name and the agent's scope.
	SetID string
	// KubeVersion is the Kubernetes version of the cluster, such as "v1.36.3". If it is empty, Helm's default is used,
	// and a chart that reads the version causes a gap.
	KubeVersion string
	// APIVersions are all APIs of the cluster, such as "apps/v1" and "apps/v1/Deployment". If it is empty, Helm's
	// default is used, and a chart that reads them causes a gap.
	APIVersions []string
	// ClusterScoped maps kinds, in the format of schema.GroupKind.String, to whether they are cluster-scoped. For other
	// kinds, the built-in kinds and the CRDs of the bundle are used.
	ClusterScoped map[string]bool
	// Helm3 means that the agent is of Fleet 0.14 or earlier, with Helm 3: it does not change hooks, and a plain
	// manifest is never a hook.
	Helm3 bool
	// OfflineDryRun means that the agent is of Fleet 0.14.0 or earlier: lookups find nothing in the dry run that it
	// makes first.
	OfflineDryRun bool
	// HelmOp means that the agent downloads the chart itself.
	HelmOp bool
	// Revision is the revision of the release that is rendered: 0 and 1 are an installation, higher ones are upgrades.
	Revision int
	// Now is the time for templates.
	Now time.Time
	// FromFiles means that the values are those of a fleet.yaml, in which Fleet's management cluster evaluates
	// templates for each cluster. Cluster has the data of the templates; nil if it is not known.
	FromFiles bool
	Cluster   *ClusterContext
	// Others are the other clusters that the files target, if their values depend on the cluster.
	Others []Others
	// Gaps and Notes were found by the caller. They come first in the Result.
	Gaps, Notes []string
}

// Result is what the agent would install.
type Result struct {
	// ReleaseNamespace is also the namespace of namespaced objects that state none.
	ReleaseName, ReleaseNamespace string
	// Objects are the desired objects in the order of the manifest, including duplicates. Documents without a kind are
	// not included.
	Objects []release.Object
	// Helm applies Hooks in addition to the manifest, and CRDs, from the crds/ directory of a chart, before it. They
	// are not desired objects. Hooks have ownership metadata, CRDs do not.
	Hooks, CRDs []release.Object
	// Unstable are the objects that differ between two renderings. Their fields cannot be compared.
	Unstable []Unstable
	// RecordSize is the approximate size of the release record in its Secret, in bytes. It is 0 if it is not known or
	// far below the limit.
	RecordSize int
	// Gaps say what could not be resolved. With a gap, the agent may render other objects. With gaps and no objects,
	// nothing could be rendered.
	Gaps []string
	// Notes say what the agent ignores silently.
	Notes []string
}

// Unstable names the fields of an object that differ between two renderings of the same input.
type Unstable struct {
	Object object.Ref
	// Pointers are JSON pointers (RFC 6901). The empty pointer is the whole object: its name differs, or it is not in
	// every rendering.
	Pointers []string
}

// ClusterContext is the data of a Cluster for the templates in values.
type ClusterContext struct {
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Values are the spec.templateValues of the Cluster, as JSON.
	Values []byte
}

// Others are other clusters that the bundle targets, and the Helm options that they share.
type Others struct {
	Helm     *v1alpha1.HelmOptions
	Clusters []ClusterContext
	// Outdated is true if the Bundle that exists targets them, and the GitRepo does not.
	Outdated bool
}

// Cluster answers the lookups of templates. Fleet's agent asks the cluster on which it renders.
type Cluster interface {
	Lookup(ctx context.Context, l Lookup) Found
}

// Lookup is a call of Helm's template function lookup. Without a name it requests all objects of a kind, in one
// namespace or in all.
type Lookup struct {
	APIVersion, Kind, Namespace, Name string
}

// String names what is looked up: "secret web/db", "every secret in namespace web".
func (l Lookup) String() string {
	key := object.Ref{APIVersion: l.APIVersion, Kind: l.Kind, Namespace: l.Namespace, Name: l.Name}.Key()
	switch {
	case l.Name != "":
		return key.String()
	case l.Namespace != "":
		return "every " + key.Type() + " in namespace " + l.Namespace
	}
	return "every " + key.Type()
}

// Found is the answer to a Lookup.
type Found struct {
	// Object is the object, or the list of objects with its items, as JSON. If it is empty, the function returns an
	// empty map: nothing was found.
	Object []byte `json:",omitempty"`
	// Unknown is why the answer is not known, as the rest of a sentence that begins with what is looked up: ", which
	// could not be read". The answer is then a gap. An object beside it is similar to the one of the cluster: its
	// values are masked.
	Unknown string `json:",omitempty"`
	// Refused is the error with which Helm's function ends the template.
	Refused string `json:",omitempty"`
}

// Error says why a bundle cannot be rendered. Libraries quote invalid input, which may be a secret. Reason does not.
type Error struct {
	Bundle string
	// File is a path within the bundle or its chart. It is empty if the error is in no file.
	File   string
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("rendering bundle %s: %s", e.Bundle, e.detail()) }

func (e *Error) detail() string {
	if e.File == "" {
		return e.Reason
	}
	return e.File + ": " + e.Reason
}

func (in Input) fail(file, reason string) error {
	return &Error{Bundle: in.Name, File: file, Reason: reason}
}

// ClusterScopedError is returned for a bundle that has a targetNamespace and cluster-scoped objects. The agent refuses
// to deploy the bundle. Source: docs/fleet-behavior.md, 1.3.
type ClusterScopedError struct {
	Bundle  string
	Objects []object.Ref
}

func (e *ClusterScopedError) Error() string {
	names := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		names[i] = o.Key().String()
	}
	return fmt.Sprintf("rendering bundle %s: cluster-scoped under a targetNamespace: %s", e.Bundle,
		strings.Join(names, ", "))
}

// LimitError is returned for a bundle that exceeds a limit of the process that renders it. Fleet's agent may be able to
// deploy the bundle.
type LimitError struct {
	Bundle string
	// Limit is the exceeded limit with its unit: "10 s", "512 MiB of memory".
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("rendering bundle %s: %s", e.Bundle, e.Detail())
}

// Detail is the error without the name of the bundle.
func (e *LimitError) Detail() string { return "it exceeded " + e.Limit }

var (
	yamlLine     = regexp.MustCompile(`line (\d+)(: did not find expected)?`)
	templateLine = regexp.MustCompile(`[^\s:("]+/templates/[^\s:()"]+:\d+(:\d+)?`)
)

// LineOf returns the line number in an error of a YAML library, as " (line 3)", and nothing else of the error. text is
// the YAML, or nil. The library counts the lines of syntax errors from 0, and those of other errors from 1.
func LineOf(err error, text []byte) string {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return ""
	}
	if m[2] != "" {
		line++
	}
	if text != nil {
		// an error at the end of the text is in its last line
		line = min(line, 1+bytes.Count(bytes.TrimRight(text, " \t\r\n"), []byte("\n")))
	}
	return fmt.Sprintf(" (line %d)", line)
}

// maxRandom is the maximum length of a random text in a template.
const maxRandom = 1 << 20

// variation replaces the template functions that depend on randomness, the time, the cluster or the network. With
// Helm's own functions, two renderings can be equal by accident, for example if dates are in the same second. The
// results of these functions differ between the passes whenever that is possible. Keys, certificates and UUIDs of Helm
// always differ.
type variation struct {
	pass  int
	count int
	now   time.Time
}

// funcs returns the functions. The one that needs the network reports a gap and returns an empty value.
func (c *variation) funcs(gap func(string), lookup func(Lookup) (map[string]any, error)) template.FuncMap {
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	const ascii = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + digits + letters
	return template.FuncMap{
		"randNumeric":  func(n int) (string, error) { return c.text(digits, n) },
		"randAlpha":    func(n int) (string, error) { return c.text(letters, n) },
		"randAlphaNum": func(n int) (string, error) { return c.text(letters+digits, n) },
		"randAscii":    func(n int) (string, error) { return c.text(ascii, n) },
		"randBytes": func(n int) (string, error) {
			s, err := c.text(ascii, n)
			return base64.StdEncoding.EncodeToString([]byte(s)), err
		},
		"randInt":        c.number,
		"shuffle":        c.shuffle,
		"now":            c.time,
		"ago":            func(date any) string { return c.time().Sub(c.at(date)).Round(time.Second).String() },
		"date":           func(layout string, date any) string { return inZone(layout, c.at(date), "Local") },
		"htmlDate":       func(date any) string { return inZone(time.DateOnly, c.at(date), "Local") },
		"dateInZone":     func(layout string, date any, zone string) string { return inZone(layout, c.at(date), zone) },
		"date_in_zone":   func(layout string, date any, zone string) string { return inZone(layout, c.at(date), zone) },
		"htmlDateInZone": func(date any, zone string) string { return inZone(time.DateOnly, c.at(date), zone) },
		"lookup": func(apiVersion, kind, namespace, name string) (map[string]any, error) {
			return lookup(Lookup{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name})
		},
		"getHostByName": func(string) string {
			gap("a template resolves a host name")
			return ""
		},
	}
}

// text returns n characters of the alphabet. Each differs from the character at the same index in the other pass.
func (c *variation) text(alphabet string, n int) (string, error) {
	if n < 0 || n > maxRandom {
		return "", errors.New("invalid length of a random text")
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[(c.next()+c.pass)%len(alphabet)]
	}
	return string(out), nil
}

func (c *variation) number(low, high int) (int, error) {
	n := high - low
	if n <= 0 {
		return 0, fmt.Errorf("invalid range of a random number: %d to %d", low, high)
	}
	return low + (c.next()+c.pass)%n, nil
}

// shuffle returns the text unchanged, or rotated by one.
func (c *variation) shuffle(s string) string {
	if r := []rune(s); c.pass > 0 && len(r) > 1 {
		return string(append(r[1:], r[0]))
	}
	return s
}

// next returns numbers with distances between them, so that two consecutive names do not collide.
func (c *variation) next() int {
	c.count++
	const prime = 7919
	return c.count * prime % (1 << 30)
}

// time returns the present. In the other pass every part of the date and of the time differs, and also the day of the
// week.
func (c *variation) time() time.Time {
	t := c.now
	if t.IsZero() {
		t = time.Date(2026, time.February, 3, 4, 5, 6, 7, time.UTC)
	}
	if c.pass > 0 {
		t = t.AddDate(1, 1, 1).Add(time.Hour + time.Minute + time.Second + time.Millisecond)
	}
	return t
}

// at converts the argument of Helm's date functions. Any other value means the present.
func (c *variation) at(date any) time.Time {
	switch d := date.(type) {
	case time.Time:
		return d
	case *time.Time:
		if d != nil {
			return *d
		}
	case int64:
		return time.Unix(d, 0)
	case int32:
		return time.Unix(int64(d), 0)
	case int:
		return time.Unix(int64(d), 0)
	}
	return c.time()
}

func inZone(layout string, t time.Time, zone string) string {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	return t.In(loc).Format(layout)
}
