// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// secret masks a Secret, or a patch of one, in place: its data, and copies of it in its annotations.
func (m *Masker) secret(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	kind, _ := o["type"].(string)
	s := secretData{Masker: m, key: namespace + "/" + name, name: name, kind: kind}
	if name, err := release.ParseSecretName(namespace, name); err == nil && (kind == release.SecretType || kind == "") {
		s.record = &name
	}
	for key, v := range o {
		switch key {
		case "metadata":
			m.metadata(v, true)
		case "data":
			o[key] = s.values(v, true)
		case "stringData":
			o[key] = s.values(v, false)
		case "type":
			if text, ok := v.(string); ok {
				o[key], _ = m.replaceIn(text, true)
			}
		case "immutable":
		default:
			o[key] = m.field(key, v, o)
		}
	}
	if s.masked && m.ready {
		m.masked++
	}
}

// secretData masks the data of one Secret.
type secretData struct {
	*Masker
	key, name, kind string
	record          *release.Name // the release record in it, if it is one
	masked          bool
}

// values masks a map of values. encoded is true if they are base64.
func (s *secretData) values(v any, encoded bool) any {
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
		s.masked = true
		if !encoded {
			data[key] = s.value(key, text)
			continue
		}
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			s.learn(text)
			data[key] = base64.StdEncoding.EncodeToString([]byte(s.token(text)))
			continue
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(s.value(key, string(plain))))
	}
	s.renameKeys(data)
	return data
}

// value masks a value of the Secret.
func (s *secretData) value(key, v string) string {
	if s.record == nil {
		s.learnParts(v)
	}
	switch {
	case s.record != nil && key == release.DataKey:
		return s.Masker.record(*s.record, v)
	case s.name == fleet.AgentName && key == fleet.AgentSecretNamespaceKey && len(validation.IsDNS1123Label(v)) == 0:
		return v // a namespace
	case s.KubeConfigs[s.key]:
		if out, ok := s.kubeConfig(key, v); ok {
			return out
		}
	case strings.HasPrefix(strings.TrimSpace(v), "{"):
		if out, ok := s.registry(v); ok {
			return out
		}
		s.learnValues(v)
	case strings.HasSuffix(key, ".yaml"), strings.HasSuffix(key, ".yml"):
		s.learnValues(v)
	}
	return s.Masker.value(v)
}

// learnValues learns the values below sensitive keys of Helm values or of a configuration file.
func (m *Masker) learnValues(text string) {
	var v any
	if !m.ready && yaml.Unmarshal([]byte(text), &v, useNumber) == nil {
		m.values(v, false)
	}
}

func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
}

// registry masks the logins of a registry. The other JSON is covered by an HMAC of the whole.
func (m *Masker) registry(text string) (string, bool) {
	var config struct {
		Auths map[string]map[string]any `json:"auths"`
	}
	if json.Unmarshal([]byte(text), &config) != nil || len(config.Auths) == 0 {
		return "", false
	}
	for _, login := range config.Auths {
		for key, v := range login {
			v, _ := v.(string)
			plain, err := base64.StdEncoding.DecodeString(v)
			user, password, pair := strings.Cut(string(plain), ":")
			switch {
			case key == "auth" && err == nil && pair:
				m.learn(v)
				m.learn(string(plain))
				login[key] = base64.StdEncoding.EncodeToString([]byte(m.value(user) + ":" + m.value(password)))
			default:
				login[key] = m.value(v)
			}
		}
	}
	out, err := encode(map[string]any{"auths": config.Auths, "hmac": m.value(text)})
	return string(out), err == nil
}

// kubeConfig masks a value of a Secret with a kubeconfig of one of Fleet's Clusters. It keeps the address and the CA of the API server, which are not
// secret and decide whether an agent is imported again. ok is false if it is not such a value.
func (m *Masker) kubeConfig(key, v string) (out string, ok bool) {
	switch key {
	case agentconfig.URLKey:
		u, err := url.Parse(v)
		return v, err == nil && u.Host != "" && u.User == nil && u.RawQuery == ""
	case agentconfig.CAKey:
		return v, agentconfig.ReadCA([]byte(v)).Certificates > 0 && !strings.Contains(v, "PRIVATE KEY")
	case agentconfig.KubeconfigKey:
		var c struct {
			Clusters []struct {
				Name string `json:"name"`
			} `json:"clusters"`
			Users []struct {
				User map[string]any `json:"user"`
			} `json:"users"`
		}
		if yaml.Unmarshal([]byte(v), &c) != nil || len(c.Clusters) == 0 {
			return "", false
		}
		m.learn(v)
		for _, u := range c.Users {
			m.values(u.User, true)
		}
		text, err := encode(map[string]any{"apiVersion": "v1", "kind": "Config", "clusters": c.Clusters, "hmac": m.token(v)})
		return string(text), err == nil
	}
	return "", false
}

// patch masks a patch of a Secret in Fleet's status.
func (m *Masker) patch(text string) string {
	o, ok := decode([]byte(text))
	if !ok {
		return m.token(text)
	}
	m.secret(o)
	out, err := encode(o)
	if err != nil {
		return m.token(text)
	}
	return string(out)
}

// modifiedSecret matches the beginning of what Fleet writes about a Secret that differs. A patch of the Secret follows.
var modifiedSecret = regexp.MustCompile(`secret\.v1 \S+ modified \{`)

// message masks the message of a condition, which may quote patches of Secrets.
func (m *Masker) message(text string) string {
	var out strings.Builder
	for {
		at := modifiedSecret.FindStringIndex(text)
		if at == nil {
			break
		}
		begin := at[1] - 1
		d := json.NewDecoder(strings.NewReader(text[begin:]))
		var patch json.RawMessage
		end := len(text) // Fleet may truncate a message
		if d.Decode(&patch) == nil {
			end = begin + int(d.InputOffset())
		}
		out.WriteString(m.text(text[:begin]))
		out.WriteString(m.patch(text[begin:end]))
		text = text[end:]
	}
	out.WriteString(m.text(text))
	return out.String()
}
