// SPDX-License-Identifier: Apache-2.0

// Package manifests embeds the Helm charts of the admission webhook and of the auditor. `webhook install` and `auditor
// install` install the same files as helm, Rancher, Argo CD and Fleet.
package manifests

import "embed"

// Charts has the files of the charts, each in the directory of its name.
//
//go:embed webhook/Chart.yaml webhook/values.yaml webhook/values.schema.json all:webhook/templates
//go:embed auditor/Chart.yaml auditor/values.yaml auditor/values.schema.json all:auditor/templates
//go:embed auditor/alerts.yaml all:auditor/dashboards
var Charts embed.FS
