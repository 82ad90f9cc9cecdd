// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// The limits of the arguments of a call.
const (
	// maxWords is the number of objects or words.
	maxWords = 100
	// maxWord is the length of a text in characters. The longest KIND/NAMESPACE/NAME has less.
	maxWord = 1000
)

// reach says which sources a tool reads. The flags of the server that name other sources are left out.
type reach int

const (
	nothing     reach = iota
	source            // the cluster or the snapshot
	allClusters       // also the other clusters of the command line
)

// tool is a verb that only reads, with the parts of its command line that a client can set.
type tool struct {
	name, title, description string

	verb  string
	fixed []string // flags of each call
	reads reach
	// words is the argument with the arguments of the verb. required says that there must be one.
	words    string
	required bool
	// flags are the other arguments. Each sets the flag of the verb with the same name.
	flags []string
	// narrower says how to get a shorter result.
	narrower string
}

// formatArgument selects the format of every tool.
const (
	formatArgument = "format"
	textFormat     = "text"
	jsonFormat     = "json"
)

var tools = []tool{
	{name: "audit", title: "Audit Fleet", verb: "audit", reads: allClusters, words: "objects",
		description: "Compare live objects with what the bundles of Fleet specify: missing, modified, unowned and " +
			"orphaned objects, with a line or two for each cause. With objects or all: who caused each, and the next " +
			"commands.",
		fixed:    []string{"--ignore-file="}, // the file would be that of the client's directory
		flags:    []string{"namespace", "selector", "severity", "code", "since", "by", "all", "summary", "diff"},
		narrower: "name objects, or set severity, code, namespace or summary"},
	{name: "why", title: "Why is it not ready?", verb: "why", reads: allClusters, words: "objects", required: true,
		description: "Find the root cause for which a GitRepo, HelmOp, bundle, bundle deployment, cluster or " +
			"deployed object is not ready, as a chain of steps.",
		flags: []string{"namespace"}, narrower: "name fewer objects"},
	{name: "owner", title: "Who owns the object?", verb: "owner", reads: source, words: "objects", required: true,
		description: "Show which bundle owns a deployed object and why, which bundles desire it, and what its " +
			"ownership metadata means.",
		flags: []string{"namespace"}, narrower: "name fewer objects"},
	{name: "explain", title: "Explain a word", verb: "explain", words: "words",
		description: "Explain codes, states, reasons and causes of the results, with causes and remedies. Without " +
			"words: a list of all.",
		narrower: "name one word"},
	{name: "targets", title: "Targets of a bundle", verb: "targets", reads: source, words: "bundles", required: true,
		description: "Show which clusters a bundle targets, and why each other cluster is not a target.",
		flags:       []string{"namespace"}, narrower: "name one bundle"},
	{name: "preflight", title: "Predict a rollout", verb: "preflight", reads: source, words: "objects",
		description: "Predict what the next rollout of bundles would meet: conflicts, refusals, objects that it " +
			"takes over or changes. The API server is not asked.",
		fixed: []string{"--server-check=never"},
		flags: []string{"namespace", "selector", "diff"}, narrower: "name objects, or set namespace or selector"},
	{name: "agents", title: "Agents of Fleet", verb: "agents", reads: source, words: "clusters",
		description: "Show the heartbeats of Fleet's agents, and which agents the controller would import again.",
		flags:       []string{"namespace", "selector"}, narrower: "name clusters, or set namespace or selector"},
	{name: "adoption_plan", title: "Plan of an adoption", verb: "adopt", reads: source, words: "objects",
		description: "Show which existing objects an adoption would assign to the bundle that desires them, with " +
			"each change of metadata, and what it refuses. It is only a plan: no tool applies it.",
		fixed: []string{"--dry-run=client"},
		flags: []string{"namespace", "selector", "policy", "diff"}, narrower: "name objects, or set namespace or " +
			"selector"},
	{name: "repair_plan", title: "Plan of a repair", verb: "repair", reads: allClusters, words: "objects",
		description: "Show the steps that would repair what audit found, in their order, with each change, and what " +
			"is refused and why. The API server is not asked whether it accepts them. It is only a plan: no tool " +
			"applies it.",
		fixed:    []string{"--dry-run=client"},
		flags:    []string{"namespace", "selector", "code", "allow", "diff"},
		narrower: "name objects, or set code, namespace or selector"},
}

// object describes the arguments that name objects of Fleet or deployed objects.
const object = "KIND/NAME or KIND/NAMESPACE/NAME. KIND is gitrepo, helmop, bundle, bundledeployment or cluster, or " +
	"the kind of a deployed object, such as deployment"

// properties are the schemas of the arguments of all tools.
var properties = map[string]*jsonschema.Schema{
	"objects":  list(object),
	"bundles":  list("bundle/NAME or bundle/NAMESPACE/NAME"),
	"clusters": list("NAME of a Cluster of Fleet; without any, all"),
	"words":    list("such as FD101, Unowned or SpecDrift"),

	"namespace": text("Workspace of the objects of Fleet, or namespace of the deployed objects; without it, all"),
	"selector":  text("label selector, such as env=prod"),
	"severity":  choice("only findings of this severity or above", report.Info, report.Warning, report.Error),
	"code":      list("only findings with these codes or names, such as FD104 or Modified"),
	"since":     text("hide findings whose recorded change is older, such as 2h or 3d"),
	"by":        choice("count the bundle deployments by their states", printers.By...),
	"all":       {Type: "boolean", Description: "everything in detail, also what is well"},
	"summary":   {Type: "boolean", Description: "only the result: what is ready, and the number of findings"},
	"diff":      {Type: "boolean", Description: "the fields that differ, with who wrote them and when"},
	"policy": choice("which objects to take: those without another owner (unmarked), also those of an owner that is "+
		"gone (if-unowned, the default), or of these only objects without a difference (if-no-diff)",
		ownership.IfUnowned, ownership.TakeUnmarked, ownership.IfNoDiff),
	"allow": {Type: "array", Items: choice("", repair.Allowed()...), MaxItems: new(maxWords),
		Description: "also plan these steps: ask Fleet's agents and controllers to deploy (deploy), delete objects " +
			"and create them again (recreate), delete what is left over (delete)"},
	formatArgument: choice("text (the default), or the whole document as JSON, which is longer", textFormat,
		jsonFormat),
}

// text returns the schema of a text.
func text(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, MaxLength: new(maxWord)}
}

// list returns the schema of a list of texts.
func list(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: description, Items: text(""), MaxItems: new(maxWords)}
}

// choice returns the schema of one of some values.
func choice[T ~string](description string, values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: description}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// describe returns the tool as clients see it. Arguments that its schema does not have are refused.
func (t *tool) describe() *mcp.Tool {
	schema := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	schema.Properties = maps.Clone(properties)
	taken := append([]string{t.words, formatArgument}, t.flags...)
	maps.DeleteFunc(schema.Properties, func(name string, _ *jsonschema.Schema) bool {
		return !slices.Contains(taken, name)
	})
	if t.required {
		words := *schema.Properties[t.words]
		words.MinItems = new(1)
		schema.Properties[t.words], schema.Required = &words, []string{t.words}
	}
	return &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: true}}
}
