// SPDX-License-Identifier: Apache-2.0

// Package manifests holds what the admission webhook takes on a cluster, as kustomizations: a base, components that change it, and overlays
// that put the two together. `webhook install` renders the same files that `kubectl apply -k` and Fleet do.
package manifests

import "embed"

// Files are the kustomizations, by their paths in this directory: "overlays/default".
//
//go:embed base components overlays
var Files embed.FS
