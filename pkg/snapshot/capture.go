// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidwall/pretty"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// fieldsOf returns the fields to capture for a desired state.
func fieldsOf(desired *desired.State, bundles bool) fields {
	out := fields{desired: map[object.Key]map[string]bool{}, namespaces: map[string]bool{},
		kubeConfigs: map[types.NamespacedName]bool{}, bundles: bundles}
	for _, d := range desired.Deployments {
		for _, o := range slices.Concat(d.Claimed(), d.Removed) {
			out.desire(o.Key(), o.Raw)
		}
		for key, raw := range d.Recorded {
			out.desire(key, raw)
		}
		if d.BD != nil {
			for name := range d.BD.Spec.Options.NamespaceAnnotations {
				out.namespaces[name] = true
			}
		}
	}
	for _, c := range desired.Clusters {
		for _, rec := range c.Leftovers {
			for _, o := range rec.Objects {
				ref := o.Ref
				if ref.Namespace == "" && c.State.Namespaced(ref.GroupVersionKind()) {
					ref.Namespace = rec.Namespace
				}
				out.desire(ref.Key(), o.Raw)
			}
		}
	}
	for _, c := range desired.Fleet.Clusters {
		out.kubeConfigs[state.KubeConfigKey(c)] = true
	}
	return out
}

// desire adds an object that a bundle desires, with the JSON in its manifest.
func (f *fields) desire(key object.Key, raw []byte) {
	if f.desired[key] == nil {
		f.desired[key] = map[string]bool{}
	}
	if m, err := object.ReadMeta(raw); err == nil {
		for name := range m.Metadata.Annotations {
			f.desired[key][name] = true
		}
	}
}

// file returns the name and the text of the file of an object; ok is false if the object cannot be decoded.
func (t *taking) file(c capture, o source.Object) (name string, text []byte, ok bool) {
	m, err := o.ReadMeta()
	if err != nil {
		return "", nil, false
	}
	content, ok := whole(o)
	if !ok {
		return "", nil, false
	}
	raw, ok := t.capture(m.Ref(), content, o.Partial)
	if !ok {
		return "", nil, false
	}
	name = fileName(c.resource(), m.Metadata.Namespace, t.hidden(m.Metadata.Name))
	// json.Indent needs several times as long
	return name, pretty.PrettyOptions(raw, &pretty.Options{Indent: "  "}), true
}

// capture returns the captured JSON of an object. partial is true if it is partial already. It returns no error, which
// could quote the object.
func (t *taking) capture(ref object.Ref, content map[string]any, partial bool) (captured []byte, ok bool) {
	key := ref.Key()
	masks := t.masker.Object(key)
	t.record(key, content, partial)
	name, err := release.ParseSecretName(key.Namespace, key.Name)
	if isRecord := err == nil && ref.IsSecret() && content["type"] == release.SecretType; isRecord {
		content = t.captureRecord(name, masks, content)
	} else {
		if content, err = t.fields.of(content, key); err != nil {
			return nil, false
		}
		public, environment := t.fields.public(content, key), environmentOf(content, key)
		masks.Payload = t.options.Bundles
		masks.Mask(content)
		maps.Copy(content, public)
		environment.restore(content)
	}
	if partial {
		child(child(content, "metadata"), "annotations")[format.CapturedAnnotation] = format.CapturedMetadata
	}
	if masks.HasSecret() {
		t.masked++
	}
	out, err := secret.EncodeJSON(content)
	return t.hideIDs(out), err == nil
}

// captureRecord returns the captured Secret of a release record.
func (t *taking) captureRecord(name release.Name, masks *secret.ObjectMask, content map[string]any) map[string]any {
	data, _ := content["data"].(map[string]any)
	text, _ := data[release.DataKey].(string)
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		value = []byte(text)
	}
	captured := t.releaseRecord(name, masks, string(value))
	t.masked++
	out := map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"], "type": content["type"],
		"metadata": t.fields.metadata(content, object.Key{Kind: "Secret", Namespace: name.Namespace}),
		"data":     map[string]any{release.DataKey: base64.StdEncoding.EncodeToString([]byte(captured))}}
	delete(child(child(out, "metadata"), "annotations"), format.CapturedAnnotation)
	return out
}

// environment is whether the variables of an agent agree with their hash in the status of a Cluster that a bundle
// desires.
type environment struct{ captured, agree bool }

func environmentOf(content map[string]any, key object.Key) environment {
	status, _ := content["status"].(map[string]any)
	stated, captured := status["agentEnvVarsHash"].(string)
	if !captured || key.Group != fleetGroup || key.Kind != state.ClusterKind {
		return environment{}
	}
	return environment{captured: true, agree: stated == environmentHash(content)}
}

// restore writes a hash that agrees with the masked variables as the original one did with the original ones.
func (e environment) restore(content map[string]any) {
	if !e.captured {
		return
	}
	hash := environmentHash(content)
	if !e.agree {
		hash = "differs"
	}
	child(content, "status")["agentEnvVarsHash"] = hash
}

func environmentHash(content map[string]any) string {
	raw, err := json.Marshal(child(content, "spec")["agentEnvVars"])
	if err != nil {
		return ""
	}
	return agentconfig.EnvironmentHash(raw)
}

// whole returns an object as decoded JSON, with its apiVersion, kind and managedFields, which a source may keep apart.
func whole(o source.Object) (content map[string]any, ok bool) {
	if content, ok = secret.DecodeJSON(o.Raw); !ok {
		return nil, false
	}
	content["apiVersion"], content["kind"] = o.Kind.ToAPIVersionAndKind()
	if len(o.ManagedFields) == 0 {
		return content, true
	}
	var managed any
	err := json.Unmarshal(o.ManagedFields, &managed)
	child(content, "metadata")["managedFields"] = managed
	return content, err == nil
}
