// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// DecodeJSON decodes a JSON object. Numbers keep their digits.
func DecodeJSON(raw []byte) (content map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&content)
	return content, err == nil && content != nil
}

// EncodeJSON encodes decoded JSON with sorted keys.
func EncodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// within masks a part of an object with other fields than those around it.
func (o *ObjectMask) within(s schema, mask func()) {
	before := o.schema
	o.schema = s
	mask()
	o.schema = before
}

// Mask masks the object, given as decoded JSON, in place.
func (o *ObjectMask) Mask(content map[string]any) {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	o.within(schemaOf(apiVersion), func() {
		if kind == "Secret" && object.Group(apiVersion) == "" {
			o.maskSecret(content)
			return
		}
		o.fields(content)
	})
}

// maskSecret masks a Secret, or a patch of one, in place: its data, and copies of it in its annotations.
func (o *ObjectMask) maskSecret(content map[string]any) {
	for key, v := range content {
		switch key {
		case "metadata":
			o.metadata(v, true)
		case "data":
			content[key] = o.secretData(v, true)
		case "stringData":
			content[key] = o.secretData(v, false)
		case "type", "immutable":
		default:
			content[key] = o.field(key, v, content)
		}
	}
}

// secretData masks a map of values. encoded is true if they are base64.
func (o *ObjectMask) secretData(v any, encoded bool) any {
	data, ok := v.(map[string]any)
	if !ok && v != nil {
		return map[string]any{}
	}
	for key, v := range data { // none for null
		text, ok := v.(string)
		switch {
		case v == nil || text == "" && ok:
			continue
		case !ok:
			text = fmt.Sprint(v) // not valid in a Secret, but a manifest may have it
		}
		o.secret = true
		if !encoded {
			data[key] = o.Token(text)
			continue
		}
		if plain, ok := decodedValue(text, true); ok {
			text = plain
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(o.Token(text)))
	}
	o.renameKeys(data)
	return data
}

// fields masks all members of an object in place.
func (o *ObjectMask) fields(content map[string]any) {
	for key, v := range content {
		switch key {
		case "metadata":
			o.metadata(v, false)
		case "status":
			o.within(o.schema.status(), func() { content[key] = o.field(key, v, content) })
		default:
			content[key] = o.field(key, v, content)
		}
	}
}

// leaves replaces every text and number.
func (o *ObjectMask) leaves(v any) any {
	switch v := v.(type) {
	case string:
		return o.Token(v)
	case json.Number:
		return o.Token(v.String())
	case []any:
		for i, e := range v {
			v[i] = o.leaves(e)
		}
	case map[string]any:
		for key, e := range v {
			v[key] = o.leaves(e)
		}
	}
	return v
}

// metadata masks the annotations of an object in place. secret is true for those of a Secret.
func (o *ObjectMask) metadata(v any, secret bool) {
	meta, _ := v.(map[string]any)
	for key, v := range meta {
		if fixed[key] || nameKeys[key] {
			continue
		}
		if key == "managedFields" {
			o.keys(v)
			continue
		}
		annotations, ok := v.(map[string]any)
		if key != "annotations" || !ok {
			meta[key] = o.field(key, v, meta)
			continue
		}
		for name, v := range annotations {
			text, ok := v.(string)
			switch {
			case !ok:
			case digest.MatchString(text) && !strings.HasPrefix(name, fleetGroup+"/"):
				annotations[name] = o.Token(text)
			default:
				annotations[name] = o.annotation(text, secret)
			}
		}
		o.renameKeys(annotations)
	}
}

// digest matches a plain hash. Charts write the hash of a Secret into annotations of pods, so that a change restarts
// them: who guesses the Secret could check the guess.
var digest = regexp.MustCompile(`^([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$`)

// keys masks the keys of managedFields in place: they have the names of fields, the keys of lists, and the elements of
// sets.
func (o *ObjectMask) keys(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			o.keys(e)
		}
	case map[string]any:
		for key, e := range maps.Clone(v) {
			o.keys(e)
			masked := key
			switch kind, rest, _ := strings.Cut(key, ":"); kind {
			case "f":
				masked = "f:" + o.mapKey(rest)
			case "k", "v":
				masked = o.Text(key)
			}
			if masked != key {
				delete(v, key)
				v[masked] = e
			}
		}
	}
}

// annotation masks an annotation, which may be a copy of the object. secret is true for one of a Secret.
func (o *ObjectMask) annotation(text string, secret bool) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return o.Text(text)
	}
	var content map[string]any
	// A decoder would not return what follows the object, nor the first value of a key that occurs twice.
	ok := jsontext.Value(text).IsValid()
	if ok {
		content, ok = DecodeJSON([]byte(text))
	}
	if !ok {
		if secret {
			return o.Token(text) // it may be a copy
		}
		return o.Text(text)
	}
	before, err := EncodeJSON(content)
	if err != nil {
		return o.Token(text)
	}
	isCopy := secret && hasData(content)
	if content["kind"] == "Secret" || isCopy {
		o.maskSecret(content)
	} else {
		o.Mask(content)
	}
	after, err := EncodeJSON(content)
	switch {
	case err != nil:
		return o.Token(text)
	case bytes.Equal(before, after):
		return text // as it was written
	}
	return string(after) + "\n" // as kubectl writes it
}

// field masks the value of a field. parent is the object that has the field.
func (o *ObjectMask) field(key string, v any, parent map[string]any) any {
	if o.schema == fleetFields && payloadKeys[key] {
		if o.Payload {
			return v
		}
		return o.leaves(v)
	}
	switch v := v.(type) {
	case string:
		switch {
		case key == "patch" && parent["kind"] == "Secret":
			return o.patch(v)
		case key == "message":
			return o.message(v)
		case o.keeps(key, v):
			return v
		}
		return o.Text(v)
	case json.Number:
		if o.schema < kubernetesFields && !countKeys[key] && o.index.Known(v.String()) {
			return o.Token(v.String())
		}
	case []any:
		if labelKeys[key] {
			return v
		}
		element := "" // the field as which an element counts
		if key == "message" {
			element = key
		}
		for i, e := range v {
			v[i] = o.field(element, e, nil)
		}
	case map[string]any:
		switch {
		case labelKeys[key]:
		case v["kind"] == "Secret" && (v["data"] != nil || v["stringData"] != nil):
			o.maskSecret(v)
		default:
			if _, embedded := v["metadata"].(map[string]any); embedded {
				o.fields(v)
				break
			}
			for name, e := range v {
				v[name] = o.field(name, e, v)
			}
			o.renameKeys(v)
		}
	}
	return v
}

// plainWord matches a value that looks like a word or a file name.
var plainWord = regexp.MustCompile(`^[A-Za-z._-]+$`)

// keeps reports whether the text of a field is not masked, because it identifies something, is a state, or is a time.
func (o *ObjectMask) keeps(key, v string) bool {
	switch {
	case strings.ContainsAny(v, notInNames):
		return false
	case nameKeys[key], referenceKeys[key] && o.schema >= fleetStatusFields, isTime(v):
		return true
	}
	return stateKeys[key] && o.schema != unknownFields && plainWord.MatchString(v)
}

// renameKeys masks values of Secrets in the keys of a map.
func (o *ObjectMask) renameKeys(content map[string]any) {
	for name, v := range maps.Clone(content) {
		if masked := o.mapKey(name); masked != name {
			delete(content, name)
			content[masked] = v
		}
	}
}

// fieldName matches a key that may be the name of a field.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// mapKey masks a key with a value of a Secret. The name of a field is masked only if it looks like no word, and the
// domain of an annotation never.
func (o *ObjectMask) mapKey(name string) string {
	isName := fieldName.MatchString(name) || plainWord.MatchString(name)
	if len(name) < MinLength || isName && !escape.IsRandom(name) {
		return name
	}
	index := strings.IndexByte(name, '/') + 1
	return name[:index] + o.Text(name[index:])
}

// patch masks a patch of a Secret in Fleet's status.
func (o *ObjectMask) patch(text string) string {
	content, ok := DecodeJSON([]byte(text))
	if !ok {
		return o.Token(text)
	}
	o.maskSecret(content)
	out, err := EncodeJSON(content)
	if err != nil {
		return o.Token(text)
	}
	return string(out)
}

// modifiedSecret matches the beginning of what Fleet writes about a Secret that differs. A patch of the Secret follows.
var modifiedSecret = regexp.MustCompile(`secret\.v1 \S+ modified \{`)

// message masks the message of a condition, which may quote patches of Secrets.
func (o *ObjectMask) message(text string) string {
	var out strings.Builder
	for {
		found := modifiedSecret.FindStringIndex(text)
		if found == nil {
			break
		}
		begin := found[1] - 1
		d := json.NewDecoder(strings.NewReader(text[begin:]))
		var patch json.RawMessage
		end := len(text) // Fleet may truncate a message
		if d.Decode(&patch) == nil {
			end = begin + int(d.InputOffset())
		}
		out.WriteString(o.Text(text[:begin]))
		out.WriteString(o.patch(text[begin:end]))
		text = text[end:]
	}
	out.WriteString(o.Text(text))
	return out.String()
}
