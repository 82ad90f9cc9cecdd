// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// SecretMemory remembers how the values of Secrets begin, so that only those Secrets are read again that a document may
// quote. One reader at a time may use it.
type SecretMemory struct {
	secrets map[types.NamespacedName]rememberedSecret
}

// rememberedSecret is a Secret in one version.
type rememberedSecret struct {
	version    string
	helmValues bool
	beginnings secret.Beginnings
}

// search is one search of all Secrets. What it does not find does not exist any more.
type search struct {
	memory     *SecretMemory
	quotes     *secret.Quotes
	helmValues map[string]bool // as in QuotedOptions
	found      map[types.NamespacedName]rememberedSecret
}

func newSearch(m *SecretMemory, quotes *secret.Quotes, helmValues map[string]bool) *search {
	return &search{m, quotes, helmValues, map[types.NamespacedName]rememberedSecret{}}
}

// remembered reports whether the texts are known not to quote a Secret in a version.
func (s *search) remembered(namespace, name, version string) bool {
	id := types.NamespacedName{Namespace: namespace, Name: name}
	known, ok := s.memory.secrets[id]
	if !ok || known.version != version {
		return false
	}
	if s.helmValues[id.String()] && !known.helmValues {
		return false // more of it can be quoted now
	}
	if s.quotes.MayQuote(known.beginnings) {
		return false
	}
	s.found[id] = known
	return true
}

// mayQuote reports whether the texts may quote a Secret, which is remembered.
func (s *search) mayQuote(m *object.Meta, content object.Content, helmValues bool) bool {
	if s.memory == nil {
		return true
	}
	beginnings := secret.BeginningsOf(content, helmValues)
	id := types.NamespacedName{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
	s.found[id] = rememberedSecret{m.Metadata.ResourceVersion, helmValues, beginnings}
	return s.quotes.MayQuote(beginnings)
}

// end ends the search.
func (s *search) end() {
	if s.memory != nil {
		s.memory.secrets = s.found
	}
}
