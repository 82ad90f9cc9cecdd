// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

const (
	objectBytes = 8 << 10 // of a request's body
	perRelease  = 500     // objects of each release that only fills the index
	bundle      = "bench" // also the release and its namespace
)

// namespace is where the objects of a variant are written.
func (a Variant) namespace() string { return "bench-" + string(a) }

func objectName(i int) string { return fmt.Sprintf("object-%d", i) }

// fullMetadata is the complete ownership metadata of the objects.
func fullMetadata() ownership.Metadata {
	return ownership.Desired(fleet.SetID(bundle, ""), bundle, bundle)
}

// written is the ownership metadata that requests write.
func (t Traffic) written() ownership.Metadata {
	m := fullMetadata()
	switch t {
	case Fleets:
		return m
	case Adopted:
		m.Hash, m.SetID = "", ""
		return m
	}
	return ownership.Metadata{}
}

// stored is the ownership metadata that objects have afterwards.
func (t Traffic) stored(variant Variant) ownership.Metadata {
	if t == Adopted && (variant == Constant || variant == Ours) {
		return fullMetadata()
	}
	return t.written()
}

// calls is the number of calls of a webhook for n writes.
func (t Traffic) calls(n int) int {
	if t == Adopted {
		return n
	}
	return 0
}

// bodies are the requests that write n objects, all of the same size.
func (t Traffic) bodies(op Operation, n int) ([][]byte, error) {
	labels, annotations := map[string]string{}, map[string]string{}
	values := t.written().Values()
	for _, k := range ownership.Keys() {
		if v := values[k.Name]; v != "" && k.Label {
			labels[k.Name] = v
		} else if v != "" {
			annotations[k.Name] = v
		}
	}
	out := make([][]byte, n)
	for i := range out {
		data := map[string]string{"operation": string(op), "text": ""}
		body := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"name": objectName(i), "labels": labels, "annotations": annotations}}
		bare, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encoding an object: %w", err)
		}
		data["text"] = strings.Repeat("lorem ipsum dolor sit amet ", objectBytes/20)[:objectBytes-len(bare)]
		if out[i], err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encoding an object: %w", err)
		}
	}
	return out, nil
}

// fill creates an index of releases that desire at least known objects, and of the release that desires the
// written objects.
func fill(known, written int) (*index.Index, error) {
	var entries []*index.Revision
	add := func(r record.Record) error {
		e, err := desired.ReadRevision(r.Value())
		if err != nil {
			return fmt.Errorf("reading the record of %s: %w", r.Bundle, err)
		}
		entries = append(entries, e)
		return nil
	}
	if err := add(record.Record{Bundle: bundle, Namespace: bundle, Objects: record.ConfigMaps(Ours.namespace(),
		written)}); err != nil {
		return nil, err
	}
	for have := 0; have < known; have += perRelease {
		name := fmt.Sprintf("known-%03d", have/perRelease)
		if err := add(record.Record{Bundle: name, Namespace: name, Objects: record.ConfigMaps(name,
			perRelease)}); err != nil {
			return nil, err
		}
	}
	r := index.New()
	r.Replace("", entries)
	return r, nil
}
