// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// errObject does not quote the object.
var errObject = errors.New("it is not a JSON object")

// Learn reads the values of Secrets that an object states, given as JSON with its apiVersion and kind.
func (m *Masker) Learn(raw []byte) error {
	_, err := m.Mask(raw)
	return err
}

// Mask returns the masked object as JSON with sorted keys.
func (m *Masker) Mask(raw []byte) ([]byte, error) {
	before := m.masked
	out, err := m.mask(raw)
	if m.masked > before {
		m.masked = before + 1 // the copies of Secrets in an object do not count
	}
	return out, err
}

func (m *Masker) mask(raw []byte) ([]byte, error) {
	o, ok := decode(raw)
	if !ok {
		return nil, errObject
	}
	m.object(o, raw)
	return encode(o)
}

// decode decodes a JSON object. Numbers keep their digits.
func decode(raw []byte) (o map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&o)
	return o, err == nil && o != nil
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// schema is what is known about the fields of an object.
type schema int

const (
	unknownFields    schema = iota // a custom resource or other JSON: a field may have any value
	statusFields                   // the status of a custom resource, which has conditions and phases
	kubernetesFields               // an object of Kubernetes: its numbers have a meaning, and a type
	fleetFields                    // an object of Fleet
)

func schemaOf(apiVersion string) schema {
	switch group := object.Group(apiVersion); {
	case group == fleetGroup:
		return fleetFields
	case apiVersion != "" && !strings.Contains(group, "."), strings.HasSuffix(group, ".k8s.io"):
		return kubernetesFields
	}
	return unknownFields
}

// within masks a part of an object with other fields than those around it.
func (m *Masker) within(s schema, mask func()) {
	before := m.schema
	m.schema = s
	mask()
	m.schema = before
}

// object masks an object in place. raw is its JSON as it was read.
func (m *Masker) object(o map[string]any, raw []byte) {
	apiVersion, _ := o["apiVersion"].(string)
	m.within(schemaOf(apiVersion), func() { m.members(o, object.Group(apiVersion), raw) })
}

func (m *Masker) members(o map[string]any, group string, raw []byte) {
	switch kind := o["kind"]; {
	case group == "" && kind == "Secret":
		m.secret(o)
	case group == "" && kind == "ConfigMap":
		m.configMap(o)
	case group == fleetGroup && kind == "Content":
		m.content(o)
	case group == fleetGroup && kind == "Bundle":
		m.bundle(o, raw)
	default:
		m.fields(o)
	}
}

const fleetGroup = "fleet.cattle.io"

// nameKeys are the fields that identify objects. They are not masked, because a masked reference would name nothing.
var nameKeys = map[string]bool{"apiVersion": true, "kind": true, "namespace": true, "name": true, "generateName": true, "uid": true, "resourceVersion": true}

// referenceKeys are the fields in which Fleet identifies deployments, releases and contents.
var referenceKeys = map[string]bool{"deploymentID": true, "appliedDeploymentID": true, "stagedDeploymentID": true, "release": true, "commit": true,
	"valuesHash": true, "sha256sum": true}

// stateKeys are the fields with states, of which programs know the words.
var stateKeys = map[string]bool{"type": true, "status": true, "phase": true, "state": true, "reason": true, "operation": true}

// countKeys are the fields with numbers that the API server counts for every object.
var countKeys = map[string]bool{"generation": true, "observedGeneration": true, "deletionGracePeriodSeconds": true}

// notInNames are characters that no name has. A field with one of them may quote an error with the value of a Secret.
const notInNames = " \t\r\n\"'`=@{}<>"

// labelKeys are the fields with labels, and with selectors of labels: labels are not masked, so that a selector still selects the same objects.
var labelKeys = map[string]bool{"labels": true, "matchLabels": true, "matchExpressions": true, "namespaceLabels": true, "agentNamespaceLabels": true}

// fixed are the members of metadata that are names, times or field names.
var fixed = map[string]bool{"labels": true, "ownerReferences": true, "finalizers": true}

// fields masks all members of an object in place.
func (m *Masker) fields(o map[string]any) {
	for key, v := range o {
		switch key {
		case "metadata":
			m.metadata(v, false)
		case "status":
			m.within(max(m.schema, statusFields), func() { o[key] = m.field(key, v, o) })
		default:
			o[key] = m.field(key, v, o)
		}
	}
}

// metadata masks the annotations of an object in place. secret is true for those of a Secret.
func (m *Masker) metadata(v any, secret bool) {
	meta, _ := v.(map[string]any)
	for key, v := range meta {
		if fixed[key] || nameKeys[key] {
			continue
		}
		if key == "managedFields" {
			m.keys(v)
			continue
		}
		annotations, ok := v.(map[string]any)
		if key != "annotations" || !ok {
			meta[key] = m.field(key, v, meta)
			continue
		}
		for name, v := range annotations {
			if text, ok := v.(string); ok {
				annotations[name] = m.annotation(text, secret)
			}
		}
		m.renameKeys(annotations)
	}
}

// keys masks the keys of managedFields in place: they have the names of fields, the keys of lists, and the elements of sets.
func (m *Masker) keys(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			m.keys(e)
		}
	case map[string]any:
		for key, e := range v {
			m.keys(e)
			masked := key
			switch kind, rest, _ := strings.Cut(key, ":"); kind {
			case "f":
				masked = "f:" + m.mapKey(rest)
			case "k", "v":
				masked = m.text(key)
			}
			if masked != key {
				delete(v, key)
				v[masked] = e
			}
		}
	}
}

// annotation masks an annotation, which may be a copy of the object. secret is true for one of a Secret.
func (m *Masker) annotation(text string, secret bool) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return m.text(text)
	}
	var o map[string]any
	ok := jsontext.Value(text).IsValid() // a decoder would not return what follows the object, nor the first value of a key that occurs twice
	if ok {
		o, ok = decode([]byte(text))
	}
	if !ok {
		if secret {
			return m.token(text) // it may be a copy
		}
		return m.text(text)
	}
	before, err := encode(o)
	if err != nil {
		return m.token(text)
	}
	_, data := o["data"].(map[string]any)
	_, stringData := o["stringData"].(map[string]any)
	if kind, _ := o["kind"].(string); secret && (data || stringData || kind == "Secret") {
		o["kind"] = "Secret"
		m.secret(o)
		if kind == "" {
			delete(o, "kind")
		}
	} else {
		m.object(o, nil)
	}
	after, err := encode(o)
	switch {
	case err != nil:
		return m.token(text)
	case bytes.Equal(before, after):
		return text // as it was written
	}
	return string(after) + "\n" // as kubectl writes it
}

// field masks the value of a field. parent is the object that has the field.
func (m *Masker) field(key string, v any, parent map[string]any) any {
	switch v := v.(type) {
	case string:
		switch {
		case key == "patch" && parent["kind"] == "Secret":
			return m.patch(v)
		case key == "message":
			return m.message(v)
		case m.keeps(key, v):
			return v
		}
		return m.text(v)
	case json.Number:
		if m.schema < kubernetesFields && !countKeys[key] {
			return m.number(v)
		}
	case []any:
		if labelKeys[key] {
			return v
		}
		for i, e := range v {
			v[i] = m.field("", e, nil)
		}
	case map[string]any:
		switch {
		case labelKeys[key]:
		case v["kind"] == "Secret" && (v["data"] != nil || v["stringData"] != nil):
			m.secret(v)
		case key == "helm":
			m.helm(v)
		default:
			if _, embedded := v["metadata"].(map[string]any); embedded {
				m.fields(v)
				break
			}
			for name, e := range v {
				v[name] = m.field(name, e, v)
			}
			m.renameKeys(v)
		}
	}
	return v
}

// keeps reports whether the text of a field is not masked, because it identifies something, is a state, or is a time.
func (m *Masker) keeps(key, v string) bool {
	switch {
	case strings.ContainsAny(v, notInNames):
		return false
	case nameKeys[key], referenceKeys[key] && m.schema == fleetFields, isTime(v):
		return true
	}
	return stateKeys[key] && m.schema != unknownFields && plainWord.MatchString(v)
}

// number masks a number that is a value of a Secret.
func (m *Masker) number(v json.Number) any {
	if _, known := m.learned[v.String()]; known && m.ready && !m.named(v.String()) {
		return m.token(v.String())
	}
	return v
}

// renameKeys masks values of Secrets in the keys of a map.
func (m *Masker) renameKeys(o map[string]any) {
	if !m.ready {
		return
	}
	for name, v := range o {
		if masked := m.mapKey(name); masked != name {
			delete(o, name)
			o[masked] = v
		}
	}
}

// fieldName matches a key that may be the name of a field.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// mapKey masks the values of Secrets in a key. The name of a field is masked only if it looks like no word, and the domain of an annotation never.
func (m *Masker) mapKey(name string) string {
	if len(name) < fragment || fieldName.MatchString(name) && !random(name) {
		return name
	}
	at := strings.IndexByte(name, '/') + 1
	out, _ := m.replaceIn(name[at:], true)
	return name[:at] + out
}

// free masks all texts in a value in which no key has a meaning.
func (m *Masker) free(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v)
	case json.Number:
		return m.number(v)
	case []any:
		for i, e := range v {
			v[i] = m.free(e)
		}
	case map[string]any:
		for name, e := range v {
			v[name] = m.free(e)
		}
		m.renameKeys(v)
	}
	return v
}

// sensitive matches keys of Helm values that have secrets, as people name them.
var sensitive = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|credentials?|(private|api|access|secret|encryption|signing|license)[-_]?key|auth)$`)

// values masks Helm values: each text below a sensitive key, and each value of a Secret elsewhere.
func (m *Masker) values(v any, secret bool) any {
	switch v := v.(type) {
	case string:
		if secret && len(v) >= fragment && !strings.Contains(v, "{{") && !m.named(v) {
			return m.value(v)
		}
		return m.text(v)
	case json.Number:
		if secret && len(v) >= fragment {
			return m.value(v.String())
		}
		return m.number(v)
	case []any:
		for i, e := range v {
			v[i] = m.values(e, secret)
		}
	case map[string]any:
		for name, e := range v {
			if text, ok := e.(string); ok && text != "" && len(text) < fragment && sensitive.MatchString(name) {
				v[name] = m.token(text) // too short to be found elsewhere
				continue
			}
			v[name] = m.values(e, secret && !isRef(name) || sensitive.MatchString(name))
		}
		m.renameKeys(v)
	}
	return v
}

// isRef reports whether a key of Helm values names an object or another key.
func isRef(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, "name") || strings.HasSuffix(lower, "ref") || strings.HasSuffix(lower, "key") && !sensitive.MatchString(name)
}

// helm masks the options of a release.
func (m *Masker) helm(o map[string]any) {
	for key, v := range o {
		switch key {
		case "values", "templateValues":
			o[key] = m.values(v, false)
		default:
			o[key] = m.field(key, v, o)
		}
	}
}

// configMap masks a ConfigMap. Helm can keep its release records in ConfigMaps: only their names are needed.
func (m *Masker) configMap(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	data, _ := o["data"].(map[string]any)
	for key, v := range o {
		switch key {
		case "metadata":
			m.metadata(v, false)
		case "data", "binaryData":
			o[key] = m.free(v)
		default: // only a copy can have others
			o[key] = m.field(key, v, o)
		}
	}
	if text, ok := data["release"].(string); ok && labels["owner"] == "helm" {
		data["release"] = m.token(text)
	}
}
