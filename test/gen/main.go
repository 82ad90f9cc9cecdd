// SPDX-License-Identifier: Apache-2.0

// Command gen writes the parts of docs/ that come from code: the findings, the flags, and the schema of the report.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const made = "<!-- Made by `make generate`. Do not edit. -->\n\n"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	for name, content := range map[string]func() ([]byte, error){
		"findings.md": findings, "audit.md": audit, "report.schema.json": schema,
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
	b.WriteString("A code keeps its meaning for ever. `audit --fail-on` compares with the severity.\n\n| code | severity | says |\n|---|---|---|\n")
	for _, c := range check.Catalogue() {
		fmt.Fprintf(&b, "| [%s](#%s) %s | %s | %s |\n", c.Code, strings.ToLower(c.Code+"-"+c.Name), c.Name, c.Severity, c.Title)
	}
	for _, c := range check.Catalogue() {
		fmt.Fprintf(&b, "\n## %s %s\n\n**%s**: %s.\n\n%s\n", c.Code, c.Name, c.Severity, c.Title, c.Explain)
	}
	return b.Bytes(), nil
}

// audit is the verb's help, with its own flags; those that it shares with kubectl are named only.
func audit() ([]byte, error) {
	root := cmd.New("kubectl-fleetdoctor", genericiooptions.NewTestIOStreamsDiscard(), time.Now)
	c, _, err := root.Find([]string{"audit"})
	if err != nil {
		return nil, err
	}
	shared := pflag.NewFlagSet("shared", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(shared)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# audit\n\n%s%s\n\n```\n%s\n```\n\n## Examples\n\n```\n%s\n```\n\n## Flags\n\n| flag | default | meaning |\n|---|---|---|\n",
		made, c.Long, c.UseLine(), c.Example)
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
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, def, f.Usage)
	})
	fmt.Fprintf(&b, "\nAs in kubectl: %s.\n", strings.Join(others, ", "))
	return b.Bytes(), nil
}

// schema is the JSON schema of the report, from its Go types and their comments.
func schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		AllowAdditionalProperties: true, // fields may be added: readers must not refuse them
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[report.Value]() {
				return &jsonschema.Schema{Description: "any JSON value; of a Secret, an ordinal such as ***1 in its place"}
			}
			return nil
		},
	}
	if err := r.AddGoComments("github.com/fleetdoctor/kubectl-fleetdoctor", "pkg/report"); err != nil {
		return nil, err
	}
	s := r.Reflect(&report.Audit{})
	s.Title = report.Kind + " of " + report.APIVersion
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}
