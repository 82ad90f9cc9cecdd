// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// record masks a Helm release record, given as the value of its Secret without the base64 of the API. It keeps the names of the release, of its
// chart, of the files of the chart, and its manifest and hooks with masked Secrets. The contents of the chart are removed.
func (m *Masker) record(name release.Name, value string) string {
	if unpacked := release.UnpackedSize([]byte(value)); unpacked > release.MostUnpacked(len(value)) {
		return m.unreadable(name, value, source.Unreadable{Damaged: release.ErrUnpacked.Error(), Limit: release.ErrUnpacked.Error()})
	}
	rec, err := release.Decode([]byte(value))
	if bound, exceeded := errors.AsType[*release.BoundError](err); exceeded {
		return m.unreadable(name, value, source.Unreadable{Damaged: err.Error(), Limit: bound.Error()})
	} else if err != nil {
		return m.unreadable(name, value, source.Unreadable{Damaged: err.Error()})
	}
	o, ok := unpackRecord(value)
	if !ok {
		return m.unreadable(name, value, source.Unreadable{Damaged: "decoding release record: it is damaged"})
	}
	out := map[string]any{}
	for _, key := range []string{"name", "namespace", "version", "labels", "apply_method"} {
		if v, ok := o[key]; ok {
			out[key] = v
		}
	}
	out["info"], out["chart"] = m.info(o["info"]), m.chart(o["chart"])
	if config, ok := o["config"].(map[string]any); ok {
		out["config"] = m.leaves(m.values(config, false))
	}
	if rec.Manifest != "" {
		objects, err := rec.Objects()
		if why := (source.Unreadable{}); err != nil && !errors.Is(err, release.ErrNoManifest) {
			why.Manifest = err.Error()
			if bound, exceeded := errors.AsType[*release.BoundError](err); exceeded {
				why.Limit = bound.Error()
			}
			m.unreadable(name, "", why)
		}
		out["manifest"] = m.recorded(objects)
	}
	out["hooks"] = m.hooks(o["hooks"])
	text, err := encode(out)
	if err != nil {
		return m.token(value) // it was decoded from JSON
	}
	return packRecord(text)
}

// maxRatio is the ratio of the size of a record to its stored size up to which an audit reads any number of records.
const maxRatio = 20

// packRecord compresses a record. Without the contents of the chart, it can be much smaller than the record on the cluster.
func packRecord(text []byte) string {
	out := base64.StdEncoding.EncodeToString(pack(text, gzip.DefaultCompression))
	if len(text) > maxRatio*len(out) {
		out = base64.StdEncoding.EncodeToString(pack(text, gzip.HuffmanOnly))
	}
	return out
}

// unreadable records why a record could not be read, and returns its token.
func (m *Masker) unreadable(name release.Name, value string, why source.Unreadable) string {
	if m.ready {
		put(&m.Unmasked.Records, name.Namespace+"/"+name.SecretName(), why)
	}
	return m.token(value)
}

// unpackRecord returns the JSON of a record.
func unpackRecord(value string) (o map[string]any, ok bool) {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err == nil && isPacked(plain) {
		plain, err = unpack(plain)
	}
	if err != nil {
		return nil, false
	}
	return decode(plain)
}

// info masks the state of a release, which may quote errors. The notes are removed: a chart often prints passwords there.
func (m *Masker) info(v any) any {
	info, _ := v.(map[string]any)
	delete(info, "notes")
	for key, v := range info {
		info[key] = m.field(key, v, info)
	}
	return info
}

// chart keeps the metadata of a chart and the names of its files.
func (m *Masker) chart(v any) any {
	chart, _ := v.(map[string]any)
	out := map[string]any{}
	if meta, ok := chart["metadata"].(map[string]any); ok {
		annotations, _ := meta["annotations"].(map[string]any)
		delete(meta, "annotations")
		for key, v := range meta {
			meta[key] = m.field(key, v, meta)
		}
		if annotations != nil {
			for key, v := range annotations {
				if text, ok := v.(string); ok && !strings.HasPrefix(key, fleetGroup) { // Fleet's own are names
					annotations[key] = m.text(text)
				}
			}
			meta["annotations"] = annotations
		}
		out["metadata"] = meta
	}
	for _, key := range []string{"templates", "files"} {
		list, _ := chart[key].([]any)
		names := []any{}
		for _, e := range list {
			file, _ := e.(map[string]any)
			names = append(names, map[string]any{"name": file["name"], "data": ""})
		}
		out[key] = names
	}
	return out
}

// leaves replaces every text and number in the values of a release.
func (m *Masker) leaves(v any) any {
	switch v := v.(type) {
	case string:
		return m.token(v)
	case json.Number:
		return m.token(v.String())
	case []any:
		for i, e := range v {
			v[i] = m.leaves(e)
		}
	case map[string]any:
		for key, e := range v {
			v[key] = m.leaves(e)
		}
	}
	return v
}

// hooks masks the manifests of hooks.
func (m *Masker) hooks(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	for _, e := range list {
		hook, _ := e.(map[string]any)
		text, _ := hook["manifest"].(string)
		rec := release.Record{Manifest: text}
		objects, err := rec.Objects()
		if err != nil {
			objects = nil // a Secret among them would not be found
		}
		if text != "" {
			hook["manifest"] = m.recorded(objects)
		}
	}
	return list
}
