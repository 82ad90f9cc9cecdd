// SPDX-License-Identifier: Apache-2.0

// Command gen writes the parts of docs/ that come from code: the findings, the flags, and the schemas of the documents.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	environment "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const made = "<!-- Made by `make generate`. Do not edit. -->\n\n"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	for name, content := range map[string]func() ([]byte, error){
		"findings.md": findings, "audit.md": verb("audit"), "owner.md": verb("owner"),
		"adopt.md": verb("adopt", truthTable), "preflight.md": verb("preflight", rules),
		"webhook-commands.md": webhookVerbs,
		"report.schema.json":  schema(&report.Audit{}, report.Kind), "adoption-plan.schema.json": schema(&report.Adoption{}, report.KindAdoptionPlan, report.KindAdoptionResult),
		"preflight-report.schema.json": schema(&report.Preflight{}, report.KindPreflight), "owner-report.schema.json": schema(&report.Ownership{}, report.KindOwnership),
		"webhook-status.schema.json": schema(&installation.Status{}, installation.StatusKind), "webhook-test.schema.json": schema(&installation.Test{}, installation.TestKind),
	} {
		b, err := content()
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), b, 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "gen: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// findings lists the catalogue of checks.
func findings() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Findings\n\n" + made)
	b.WriteString("The meaning of a code never changes. `audit --fail-on` selects findings by severity.\n\n| code | severity | title |\n|---|---|---|\n")
	for _, c := range check.Catalogue() {
		fmt.Fprintf(&b, "| [%s](#%s) %s | %s | %s |\n", c.Code, strings.ToLower(c.Code+"-"+c.Name), c.Name, c.Severity, c.Title)
	}
	for _, c := range check.Catalogue() {
		fmt.Fprintf(&b, "\n## %s %s\n\n**%s**: %s.\n\n%s\n", c.Code, c.Name, c.Severity, c.Title, c.Explain)
	}
	return b.Bytes(), nil
}

// verb is the help of a verb with its own flags, the names of the flags that it shares with kubectl, and further sections.
func verb(name string, sections ...func(*bytes.Buffer)) func() ([]byte, error) {
	return func() ([]byte, error) {
		root := cmd.New("kubectl-fleetdoctor", environment.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
		c, _, err := root.Find([]string{name})
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		help(&b, c)
		for _, section := range sections {
			section(&b)
		}
		return b.Bytes(), nil
	}
}

// webhookVerbs is the help of every verb of the webhook.
func webhookVerbs() ([]byte, error) {
	root := cmd.New("kubectl-fleetdoctor", environment.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
	group, _, err := root.Find([]string{"webhook"})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# webhook\n\n" + made + group.Long + "\n")
	for _, c := range group.Commands() {
		var one bytes.Buffer
		help(&one, c)
		b.WriteByte('\n')
		b.Write(heading.ReplaceAll(bytes.ReplaceAll(one.Bytes(), []byte(made), nil), []byte("#$0"))) // a section of this page
	}
	return b.Bytes(), nil
}

// heading matches the beginning of a title.
var heading = regexp.MustCompile(`(?m)^#+ `)

// truthTable is the policy of adopt.
func truthTable(b *bytes.Buffer) {
	b.WriteString("\n## What is taken\n\nThis table is the policy. If several rows apply to an object, every one of them must permit it.\n\n| the object has |")
	for _, p := range ownership.Policies {
		fmt.Fprintf(b, " `--policy=%s` |", p)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(ownership.Policies)) + "\n")
	for _, r := range ownership.TruthTable {
		fmt.Fprintf(b, "| %s (`%s`) |", r.Description, r.Situation)
		for _, p := range ownership.Policies {
			fmt.Fprintf(b, " %s |", r.Answers[p])
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nNo policy takes objects that are being deleted, objects with a controller, objects of a `fleet-agent` bundle, and cluster-scoped objects of a bundle with a " +
		"targetNamespace.\n\nOnly the labels `objectset.rio.cattle.io/hash` and `app.kubernetes.io/managed-by` and the annotations `objectset.rio.cattle.io/id`, `meta.helm.sh/release-name` and " +
		"`meta.helm.sh/release-namespace` are written, with the field manager `" + ownership.FieldManager + "`, and only to the object of the plan: its uid is checked.\n")
}

// rules are the rules of preflight.
func rules(b *bytes.Buffer) {
	b.WriteString("\n## Rules\n\nAn error sets the verdict of the bundle. Of the other rules, only those with the verdict Unknown do.\n\n| rule | severity | verdict | meaning |\n|---|---|---|---|\n")
	for _, r := range preflight.Rules() {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.Name, r.Severity, r.Verdict, r.Description)
	}
}

func help(b *bytes.Buffer, c *cobra.Command) {
	shared := pflag.NewFlagSet("shared", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(shared)
	fmt.Fprintf(b, "# %s\n\n%s%s\n\n```\n%s\n```\n\n## Examples\n\n```\n%s\n```\n\n## Flags\n\n| flag | default | meaning |\n|---|---|---|\n",
		strings.TrimPrefix(c.CommandPath(), c.Root().CommandPath()+" "), made, c.Long, c.UseLine(), c.Example)
	var others []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if shared.Lookup(f.Name) != nil && f.Name != "namespace" {
			others = append(others, "`--"+f.Name+"`")
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if t := f.Value.Type(); strings.Contains(t, "|") {
			name += " " + strings.ReplaceAll(t, "|", "\\|")
		}
		def := f.DefValue
		if def == "[]" || def == "false" {
			def = ""
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, def, f.Usage)
	})
	fmt.Fprintf(b, "\nFlags of kubectl: %s.\n", strings.Join(others, ", "))
}

// schema is the JSON schema of a document, from its Go types and their comments, for all of its kinds.
func schema(document any, kinds ...string) func() ([]byte, error) {
	return func() ([]byte, error) {
		r := &jsonschema.Reflector{
			AllowAdditionalProperties: true, // fields may be added: readers must not refuse them
			Mapper: func(t reflect.Type) *jsonschema.Schema {
				if t == reflect.TypeFor[report.Value]() {
					return &jsonschema.Schema{Description: "any JSON value; for a value of a Secret, an ordinal such as ***1"}
				}
				return nil
			},
		}
		for _, dir := range []string{"pkg/report", "pkg/object", "webhook/installation", "webhook/admission"} {
			if err := r.AddGoComments("github.com/fleetdoctor/kubectl-fleetdoctor", dir); err != nil {
				return nil, err
			}
		}
		s := r.Reflect(document)
		s.Title = strings.Join(kinds, " or ") + " of " + report.APIVersion
		b, err := json.MarshalIndent(s, "", "  ")
		return append(b, '\n'), err
	}
}
