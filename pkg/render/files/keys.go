// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keys are those that Fleet reads of a map. Below a key that is nil anything may be.
type keys map[string]keys

// The keys of a fleet.yaml of Fleet 0.10 to 0.16, of which each version ignores those of the others, as it ignores what it does not know.
// Source: Fleet's API types FleetYAML, BundleSpec and BundleDeploymentOptions.
var (
	helmKeys = keys{"chart": nil, "repo": nil, "releaseName": nil, "version": nil, "timeoutSeconds": nil, "values": nil, "templateValues": nil,
		"valuesFrom": nil, "valuesFiles": nil, "force": nil, "takeOwnership": nil, "maxHistory": nil, "atomic": nil, "disablePreProcess": nil,
		"disableDNS": nil, "skipSchemaValidation": nil, "waitForJobs": nil, "disableDependencyUpdate": nil}
	optionKeys = keys{"defaultNamespace": nil, "namespace": nil, "kustomize": {"dir": nil}, "helm": helmKeys, "serviceAccount": nil,
		"forceSyncGeneration": nil, "yaml": {"overlays": nil}, "diff": {"comparePatches": nil}, "keepResources": nil, "deleteNamespace": nil,
		"ignore": {"conditions": nil}, "correctDrift": {"enabled": nil, "force": nil, "keepFailHistory": nil}, "namespaceLabels": nil,
		"namespaceAnnotations": nil, "createNamespace": nil, "deleteCRDResources": nil, "downstreamResources": nil, "overwrites": nil,
		"allowedTargetNamespaceSelector": nil}
	bundleKeys = with(optionKeys, "name", "labels", "annotations", "targetCustomizations", "imageScans", "overrideTargets", "paused", "offSchedule",
		"rolloutStrategy", "resources", "targets", "targetRestrictions", "dependsOn", "contentsId", "helmOpOptions", "helmAppOptions", "schedule")
	targetKeys = with(optionKeys, "name", "clusterName", "clusterSelector", "clusterGroup", "clusterGroupSelector", "doNotDeploy")
)

func with(known keys, more ...string) keys {
	out := keys{}
	for k, below := range known {
		out[k] = below
	}
	for _, k := range more {
		out[k] = nil
	}
	return out
}

// unknownKeys says of each key of a fleet.yaml that Fleet ignores where it is.
func unknownKeys(file string, root *yaml.Node) []string {
	var out []string
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	report := func(path string, n *yaml.Node) {
		out = append(out, fmt.Sprintf("%s, line %d: Fleet does not know the key %s and ignores it", file, n.Line, path))
	}
	walk(root, "", bundleKeys, report)
	for i := 0; i+1 < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		if name := root.Content[i].Value; strings.EqualFold(name, "targetCustomizations") || strings.EqualFold(name, "targets") {
			for j, target := range root.Content[i+1].Content {
				walk(target, fmt.Sprintf("%s[%d].", name, j), targetKeys, report)
			}
		}
	}
	return out
}

// walk reports the keys of a map that are not known, and of the maps below it. Fleet reads keys in whatever case they are.
func walk(n *yaml.Node, path string, known keys, report func(path string, n *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		found := false
		for name, below := range known {
			if !strings.EqualFold(name, key.Value) {
				continue
			}
			if found = true; below != nil {
				walk(n.Content[i+1], path+key.Value+".", below, report)
			}
		}
		if !found && key.Tag != "!!merge" {
			report(path+key.Value, key)
		}
	}
}

// lineOfField is where in a fleet.yaml a field is, by the path that encoding/json gives it: "helm.chart". 0 where it is not found.
func lineOfField(root *yaml.Node, path string) int {
	n := root
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	line := 0
	for part := range strings.SplitSeq(path, ".") {
		found := false
		for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode && !found; i += 2 {
			if found = strings.EqualFold(n.Content[i].Value, part); found {
				line, n = n.Content[i].Line, n.Content[i+1]
			}
		}
		if !found {
			return line
		}
	}
	return line
}
