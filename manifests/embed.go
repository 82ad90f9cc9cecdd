// SPDX-License-Identifier: Apache-2.0

// Package manifests embeds the objects of the admission webhook: as a Helm chart, and as kustomizations.
package manifests

import "embed"

// Files are the kustomizations, by their paths in this directory: "overlays/default".
//
//go:embed base components overlays
var Files embed.FS

// Chart has the files of the chart.
//
//go:embed Chart.yaml values.yaml values.schema.json all:templates
var Chart embed.FS
