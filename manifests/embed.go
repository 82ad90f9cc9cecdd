// SPDX-License-Identifier: Apache-2.0

// Package manifests embeds the objects of the admission webhook as kustomizations: a base, components that change it, and overlays that combine
// both. `webhook install` renders the same files as `kubectl apply -k` and Fleet.
package manifests

import "embed"

// Files are the kustomizations, by their paths in this directory: "overlays/default".
//
//go:embed base components overlays
var Files embed.FS
