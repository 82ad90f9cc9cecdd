// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// list is one list that an audit reads, with all its pages.
type list struct {
	Kind     string `json:"kind"`               // as kubectl names resources; for other requests the path: /version
	Selector string `json:"selector,omitempty"` // of labels or fields
	Metadata bool   `json:"metadata,omitempty"` // only metadata was requested
	Pages    int    `json:"pages"`
	Bytes    int64  `json:"bytes"` // of all pages, decompressed

	uri    string // path and query, without the continue token
	accept string
	gzip   bool
}

// listsOf combines the requests of one audit to lists, ordered by kind and selector. excess are the requests that
// an audit of a healthy cluster does not need: a repeated page, a single object, a write.
func listsOf(requests []request) (lists []*list, excess []string) {
	at := map[string]*list{}
	pages := map[string]bool{}
	for _, r := range requests {
		token := r.query.Get("continue")
		r.query.Del("continue")
		uri := r.path
		if len(r.query) > 0 {
			uri += "?" + r.query.Encode()
		}
		kind, single := kindOf(r.path)
		id := uri + " " + r.accept
		if r.method != http.MethodGet || single || pages[id+" "+token] {
			excess = append(excess, r.method+" "+uri)
		}
		pages[id+" "+token] = true
		if r.method != http.MethodGet {
			continue
		}
		if at[id] == nil {
			at[id] = &list{Kind: kind, Selector: r.query.Get("fieldSelector") + r.query.Get("labelSelector"),
				Metadata: strings.Contains(r.accept, "PartialObjectMetadata"), uri: uri, accept: r.accept, gzip: r.gzip}
			lists = append(lists, at[id])
		}
		at[id].Pages++
	}
	slices.SortFunc(lists, func(a, b *list) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.uri, b.uri))
	})
	return lists, excess
}

// ofObjects reports whether a list contains objects of the releases.
func (l *list) ofObjects() bool {
	if l.Metadata || l.Selector != "" && l.Selector != "type!=helm.sh/release.v1" {
		return false
	}
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.resource == l.Kind })
}

// kindOf returns the resource of an API path, as kubectl writes it, and whether the path is of a single object.
// Any other path (/version, discovery) is returned unchanged.
func kindOf(path string) (kind string, single bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	default:
		return path, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return parts[0] + group, len(parts) > 1
}
