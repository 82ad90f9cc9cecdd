// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// KindPreflight is the kind of a Preflight.
const KindPreflight = "PreflightReport"

// Preflight predicts the problems of rollouts on this cluster.
type Preflight struct {
	Head              `text:"keep"`
	Scope             Scope            `json:"scope" text:"keep"`
	Summary           PreflightSummary `json:"summary"`
	BundleDeployments []Rollout        `json:"bundleDeployments"`
	Gaps              []Gap            `json:"gaps"`
	Notes             []string         `json:"notes,omitempty" text:"redact"`
}

// PreflightSummary counts bundle deployments by their verdicts.
type PreflightSummary struct {
	BundleDeployments int `json:"bundleDeployments"`
	OK                int `json:"ok"`
	Contested         int `json:"contested"`
	Refused           int `json:"refused"`
	Unknown           int `json:"unknown"`
	// Elsewhere are the bundle deployments on other clusters, which are not evaluated.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Verdict is the predicted result of a rollout.
type Verdict string

// The verdicts, the worst first.
const (
	VerdictRefused   Verdict = "Refused"   // Helm or Fleet's agent would not deploy it
	VerdictContested Verdict = "Contested" // it would be deployed, but another owner would revert it or lose objects
	VerdictUnknown   Verdict = "Unknown"   // not enough could be read
	VerdictOK        Verdict = "OK"        // no problems
)

// The actions of a rollout; empty if unknown.
const (
	RolloutInstall = "Install" // the release has no record: Helm takes over no existing object without its metadata
	RolloutUpgrade = "Upgrade" // the release has a record: Fleet makes Helm take over existing objects
)

// Rollout is the rollout of one bundle on this cluster, and its problems.
type Rollout struct {
	Namespace string `json:"namespace,omitempty" text:"name"`
	Name      string `json:"name" text:"name"`
	Cluster   string `json:"cluster,omitempty" text:"name"` // "namespace/name"
	Bundle    string `json:"bundle,omitempty" text:"name"`  // "namespace/name"
	GitRepo   string `json:"gitRepo,omitempty" text:"name"` // "namespace/name"
	HelmOp    string `json:"helmOp,omitempty" text:"name"`  // "namespace/name"
	SetID     string `json:"setID,omitempty" text:"name"`
	// Release is "namespace/name" of the present or future release.
	Release string `json:"release,omitempty" text:"name"`
	// Action is Install or Upgrade.
	Action string `json:"action,omitempty" text:"keep"`
	// Paused is true if the agent deploys nothing until the bundle is resumed.
	Paused bool `json:"paused,omitempty"`
	// DesiredFrom is bundle or files; empty if the desired objects are unknown.
	DesiredFrom string          `json:"desiredFrom,omitempty" text:"keep"`
	Verdict     Verdict         `json:"verdict" text:"keep"`
	Counts      RolloutCounts   `json:"counts"`
	Items       []PreflightItem `json:"items"`
}

// RolloutCounts count objects: Desired = Create + TakeOver + Change + Keep + Unknown. Delete is not included.
type RolloutCounts struct {
	Desired  int `json:"desired"`
	Create   int `json:"create"`
	TakeOver int `json:"takeOver"` // existing, and not owned by the bundle
	Change   int `json:"change"`   // owned by the bundle, with different fields
	Keep     int `json:"keep"`
	Unknown  int `json:"unknown"`
	Delete   int `json:"delete"` // in the present release, but not in the bundle
}

// PreflightItem is one problem, or effect, of a rollout.
type PreflightItem struct {
	// Rule is its code; docs/verbs/preflight.md lists the rules.
	Rule     string   `json:"rule" text:"keep"`
	Severity Severity `json:"severity" text:"keep"`
	// Object is the affected object; absent if the item is about the bundle.
	Object *object.Ref `json:"object,omitempty" text:"name"`
	// Owner is another owner of the object, or another bundle that desires it.
	Owner   string `json:"holder,omitempty" text:"keep"`
	Message string `json:"message" text:"redact"`
	// Overwrites are the fields that the rollout would change.
	Overwrites []Difference `json:"overwrites,omitempty"`
	// Remedies are ways to proceed, the safest one first. Remediation is the first of them as one text: its command, or
	// its sentence.
	Remedies    []Remedy `json:"remedies,omitempty"`
	Remediation string   `json:"remediation,omitempty" text:"redact"`
}

// Redacted returns a complete copy of the document, sorted and with its summary, in which secrets are hidden.
func (p *Preflight) Redacted(s *secret.Values) *Preflight {
	sorted := *p
	sorted.BundleDeployments = slices.SortedFunc(slices.Values(p.BundleDeployments), func(x, y Rollout) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Release, y.Release))
	})
	for i := range sorted.BundleDeployments {
		r := &sorted.BundleDeployments[i]
		r.Items = slices.SortedStableFunc(slices.Values(r.Items), comparePreflightItems)
	}
	out := redacted(s, &sorted, nil)
	complete(out)
	n := countBy(out.BundleDeployments, func(r Rollout) Verdict { return r.Verdict })
	out.Summary = PreflightSummary{len(out.BundleDeployments), n[VerdictOK], n[VerdictContested], n[VerdictRefused],
		n[VerdictUnknown], p.Summary.Elsewhere}
	return out
}

// LastDeployFailed is the rule whose item comes first. A rollout has it once.
const LastDeployFailed = "LastDeployFailed"

func comparePreflightItems(x, y PreflightItem) int {
	// What happened comes before what is predicted. An item without object is first: the zero Ref is the least.
	switch LastDeployFailed {
	case y.Rule:
		return 1
	case x.Rule:
		return -1
	}
	return cmp.Or(x.Severity.Compare(y.Severity), cmp.Compare(x.Rule, y.Rule),
		ptr.Deref(x.Object, object.Ref{}).Compare(ptr.Deref(y.Object, object.Ref{})), cmp.Compare(x.Message, y.Message))
}

func (i *PreflightItem) follow() { i.Remediation = first(i.Remedies) }

// ErrNoReport is returned for a document that is not the report of an audit.
var ErrNoReport = errors.New("not the report of an audit")

const (
	// MaxReport is the size of the largest report that callers read, in bytes.
	MaxReport = 512 << 20
	// maxYAML is the size of the largest report in YAML. The parser of YAML needs many times the memory of that of
	// JSON.
	maxYAML = 64 << 20
	// maxEntries is the largest number of entries of a report: objects and elements of lists. A finding has about 500
	// bytes in memory.
	maxEntries = 1_000_000
	// maxYAMLEntries is that of a report in YAML, with its lines.
	maxYAMLEntries = 2_000_000
	// entrySize is the least average size of an entry, in bytes. Entries of an audit have more than 100 bytes on
	// average, empty entries have 3.
	entrySize = 32
	// freeEntries is a number of entries of any size.
	freeEntries = 10_000
)

// DecodeAudit reads the report of an audit in JSON or YAML. Its errors name the document, and quote no value of it.
func DecodeAudit(name string, content []byte) (*Audit, error) {
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] != '{' {
		if len(trimmed) > maxYAML {
			return nil, fmt.Errorf("%s has more than %d MiB of YAML: make the report with -o json", name, maxYAML>>20)
		}
		// The parser of YAML has no streaming: each entry begins after one of these characters, or is nested, which it
		// limits.
		if n := bytes.Count(content, []byte(",")) + bytes.Count(content, []byte("\n")); n > maxYAMLEntries {
			return nil, fmt.Errorf("%s has more than %d lines and entries of YAML: make the report with -o json",
				name, maxYAMLEntries)
		}
		converted, err := yaml.YAMLToJSON(content)
		if err != nil {
			return nil, fmt.Errorf("%s is %w: it is neither JSON nor YAML", name, ErrNoReport)
		}
		content = converted
	}
	var head struct {
		APIVersion, Kind string
		Summary          struct{ Baseline *int }
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("%s is %w: %s", name, ErrNoReport, position(content, err))
	}
	if head.APIVersion != APIVersion || head.Kind != Kind {
		return nil, fmt.Errorf("%s is %w: its kind is %q of %q, expected %q of %q", name, ErrNoReport, head.Kind,
			head.APIVersion, Kind, APIVersion)
	}
	if head.Summary.Baseline != nil {
		return nil, fmt.Errorf("%s was made with the removed flag --baseline of the previous version, and does not "+
			"list the findings that were known then: make it again", name)
	}
	if n, most := entries(content), min(maxEntries, freeEntries+len(content)/entrySize); n > most {
		return nil, fmt.Errorf("%s has %d entries: of a report of %d KiB, at most %d are read",
			name, n, len(content)>>10, most)
	}
	var out Audit
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, fmt.Errorf("%s is %w: %s", name, ErrNoReport, position(content, err))
	}
	return &out, nil
}

// entries returns the number of objects and of elements of lists in a JSON document, or in its part before an error.
func entries(content []byte) int {
	n := 0
	d := jsontext.NewDecoder(bytes.NewReader(content),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return n
		}
		parent, _ := d.StackIndex(d.StackDepth())
		switch kind := token.Kind(); kind {
		case jsontext.KindEndObject, jsontext.KindEndArray: // counted at its begin
		case jsontext.KindBeginObject:
			n++
		default:
			if parent == jsontext.KindBeginArray {
				n++
			}
		}
	}
}

// position describes an error of the decoder, with the line.
func position(content []byte, err error) string {
	line := func(offset int64) int { return 1 + bytes.Count(content[:min(int(offset), len(content))], []byte("\n")) }
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("line %d: it is not JSON, or it is truncated", line(e.Offset))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return "it has no fields: it is a value of the type " + e.Value
		}
		return fmt.Sprintf("line %d: the field %s has a wrong type", line(e.Offset), e.Field)
	}
	return "it is not JSON"
}
