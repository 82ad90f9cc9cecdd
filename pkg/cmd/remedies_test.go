// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// TestRemedyCommands checks each command that audit, why and preflight print about each cluster of a report: the shell
// can parse it, the programs have the verb, and the object that it names was captured.
func TestRemedyCommands(t *testing.T) {
	plugin, checked := pluginName(t), 0
	for name, stages := range reports(t) {
		for i, s := range stages {
			for _, command := range slices.Sorted(maps.Keys(printed(t, plugin, s))) {
				checked++
				if err := sound(t.Context(), command, s.capture); err != nil {
					t.Errorf("%s, stage %d: %s: %v", name, i+1, command, err)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d commands were checked", checked)
	}
}

// contextFlag is the context of a snapshot in a command, which nobody knows.
var contextFlag = regexp.MustCompile(` --(kube-)?context=<[^>]*>`)

// printed are the commands that are printed about a stage.
func printed(t *testing.T, plugin string, s asked) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, args := range append([][]string{{"audit"}, {"preflight"}}, explanations(s.capture)...) {
		got := called(t, "", slices.Concat([]string{plugin}, args, []string{"--snapshot", s.snapshot, "-o", "json"})...)
		var document any
		if err := json.Unmarshal([]byte(got.out), &document); err != nil {
			continue // nothing is printed but an error
		}
		collect(document, func(command string) { out[contextFlag.ReplaceAllString(command, "")] = true })
	}
	return out
}

// explanations are the questions about each object of Fleet that a user writes.
func explanations(c *cases.Capture) [][]string {
	var out [][]string
	for _, d := range c.Documents {
		if kind := fmt.Sprint(d["kind"]); slices.Contains([]string{"GitRepo", "HelmOp", "Bundle", "Cluster"}, kind) {
			namespace, name := identity(d)
			out = append(out, []string{"why", strings.ToLower(kind) + "/" + name, "-n", namespace})
		}
	}
	return out
}

func identity(document map[string]any) (namespace, name string) {
	meta, _ := document["metadata"].(map[string]any)
	namespace, _ = meta["namespace"].(string)
	name, _ = meta["name"].(string)
	return namespace, name
}

// collect calls a function with each field "command" of a document.
func collect(document any, command func(string)) {
	switch v := document.(type) {
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); ok && key == "command" && text != "" {
				command(text)
				continue
			}
			collect(value, command)
		}
	case []any:
		for _, value := range v {
			collect(value, command)
		}
	}
}

// sound checks the programs that a command calls, without running one.
func sound(ctx context.Context, command string, c *cases.Capture) error {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return err
	}
	var wrong []error
	handler := func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(_ context.Context, words []string) error {
			if err := program(words, c); err != nil {
				wrong = append(wrong, err)
			}
			return nil
		}
	}
	runner, err := interp.New(interp.ExecHandlers(handler), interp.StdIO(strings.NewReader(""), io.Discard, io.Discard))
	if err != nil {
		return err
	}
	if err := runner.Run(ctx, file); err != nil {
		return err
	}
	return errors.Join(wrong...)
}

// kubectlVerbs are the verbs of kubectl that name an object, or a kind.
var kubectlVerbs = []string{"annotate", "delete", "describe", "edit", "get", "label", "logs", "patch", "scale"}

func program(words []string, c *cases.Capture) error {
	switch {
	case words[0] == "awk", words[0] == "helm" && slices.Contains(words, "history"):
		return nil
	case words[0] == "helm" && slices.Contains(words, "manifest"):
		namespace, rest := arguments(words[1:])
		return exists(c, namespace, "secret", "sh.helm.release.v1."+rest[len(rest)-1]+".")
	case words[0] != "kubectl":
		return fmt.Errorf("%s is no program that users have", words[0])
	case words[1] == "fleetdoctor":
		return ours(words[2:], c)
	}
	namespace, rest := arguments(words[1:])
	switch {
	case rest[0] == "apply", rest[0] == "patch" && slices.Contains(words, "--local"):
		return nil // from its input
	case !slices.Contains(kubectlVerbs, rest[0]):
		return fmt.Errorf("kubectl has no verb %s", rest[0])
	case len(rest) < 2:
		return errors.New("it names no object")
	}
	kind, name, _ := strings.Cut(rest[1], "/")
	if name == "" && len(rest) > 2 {
		name = rest[2]
	}
	if name == "" && slices.Contains([]string{"get", "describe"}, rest[0]) {
		return nil // a list
	}
	return exists(c, namespace, kind, name)
}

// ours parses a command of this program.
func ours(args []string, c *cases.Capture) error {
	command, rest, err := New("kubectl fleetdoctor", cli.Environment{}).Find(args)
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	namespace, _ := arguments(args)
	for _, target := range command.Flags().Args() {
		kind, name, ok := strings.Cut(target, "/")
		if !ok {
			continue
		}
		if before, after, ok := strings.Cut(name, "/"); ok {
			namespace, name = before, after
		}
		if err := exists(c, namespace, kind, name); err != nil {
			return err
		}
	}
	return nil
}

// arguments returns the namespace of the flag -n, and the arguments that are no flags.
func arguments(words []string) (namespace string, rest []string) {
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "-n" && i+1 < len(words):
			namespace = words[i+1]
			i++
		case slices.Contains([]string{"-p", "-o", "-l"}, words[i]):
			i++
		case !strings.HasPrefix(words[i], "-"):
			rest = append(rest, words[i])
		}
	}
	return namespace, rest
}

// exists returns an error if no object of a kind was captured. The kind is a resource or a kind, with or without its
// group. A name that ends with a dot is the begin of a name.
func exists(c *cases.Capture, namespace, kind, name string) error {
	short, _, _ := strings.Cut(strings.ToLower(kind), ".")
	for _, d := range c.Documents {
		ns, n := identity(d)
		same := n == name || strings.HasSuffix(name, ".") && strings.HasPrefix(n, name)
		singular := strings.ToLower(fmt.Sprint(d["kind"]))
		if same && (namespace == "" || ns == "" || ns == namespace) && (short == singular || short == singular+"s") {
			return nil
		}
	}
	return fmt.Errorf("no %s %s in namespace %q was captured", kind, name, namespace)
}
