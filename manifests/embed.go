// SPDX-License-Identifier: Apache-2.0

// Package manifests embeds the Helm chart of the admission webhook. `webhook install` installs the same files as helm,
// Rancher, Argo CD and Fleet.
package manifests

import "embed"

// Chart has the files of the chart.
//
//go:embed Chart.yaml values.yaml values.schema.json all:templates
var Chart embed.FS
