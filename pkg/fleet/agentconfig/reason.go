// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"slices"
	"time"
)

// Field names what causes an import. The names are part of the report.
type Field string

// The fields, in the order of reports.
const (
	FieldPending        Field = "agentConfigChanged"
	FieldMigrated       Field = "agentMigrated"
	FieldCattle         Field = "cattleNamespaceMigrated"
	FieldMigratedNS     Field = "agentNamespaceMigrated"
	FieldGeneration     Field = "redeployAgentGeneration"
	FieldAgentNamespace Field = "agentNamespace"
	FieldURL            Field = "apiServerURL"
	FieldCA             Field = "apiServerCA"
	FieldTLS            Field = "agentTLSMode"
	FieldGC             Field = "garbageCollectionInterval"
	FieldEnv            Field = "agentEnvVars"
	FieldAffinity       Field = "agentAffinity"
	FieldResources      Field = "agentResources"
	FieldTolerations    Field = "agentTolerations"
	FieldScheduling     Field = "agentSchedulingCustomization"
	FieldRepoURL        Field = "privateRepoURL"
	FieldHostNetwork    Field = "hostNetwork"
)

var order = []Field{FieldPending, FieldMigrated, FieldCattle, FieldMigratedNS, FieldGeneration, FieldAgentNamespace,
	FieldURL, FieldCA, FieldTLS, FieldGC,
	FieldEnv, FieldAffinity, FieldResources, FieldTolerations, FieldScheduling, FieldRepoURL, FieldHostNetwork}

// Reason is one field that causes an import. Recorded is the value in the status of the Cluster; Present is the value
// in the configuration or in the spec. Hashed fields have hashes.
type Reason struct {
	Field             Field
	Recorded, Present string
	// CA is the present CA; nil for other fields.
	CA *CA
}

// Configured reports whether the present value is that of the controller's configuration. Others are in the Cluster
// itself.
func (f Field) Configured() bool {
	return slices.Contains([]Field{FieldURL, FieldCA, FieldTLS, FieldGC}, f)
}

// Setting reports whether the controller records a hash of the field.
func (f Field) Setting() bool { return slices.Index(order, f) >= slices.Index(order, FieldEnv) }

func (r Reason) compare(o Reason) int {
	return slices.Index(order, r.Field) - slices.Index(order, o.Field)
}

// interval writes a recorded duration; nil is the one that was not recorded.
func interval(recorded *string) (time.Duration, bool) {
	if recorded == nil {
		return 0, true
	}
	d, err := time.ParseDuration(*recorded)
	return d, err == nil
}

func orNone(recorded *string) string {
	if recorded == nil {
		return "not recorded"
	}
	return *recorded
}
