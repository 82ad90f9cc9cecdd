// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	_ "embed" // of words.yaml
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// flagError is the error for an unknown flag. A mistyped subcommand with flags is parsed by its parent, which does not
// know them: then the subcommand is reported.
func flagError(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
		return c.ValidateArgs(words)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: nearValue(err)}
	}
	if gone := cli.Removed(c.CommandPath(), written(unknown)); gone != "" {
		return cli.UsageError(errors.New(gone))
	}
	return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: strings.TrimSpace(nearFlag(c, unknown) + "\n" +
		elsewhere(c, written(unknown)))}
}

// written is an unknown flag with its hyphens.
func written(unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return "-" + unknown.GetSpecifiedName()
	}
	return "--" + unknown.GetSpecifiedName()
}

// elsewhere names the other commands that have an unknown flag, such as --watch; "" if none has it.
func elsewhere(c *cobra.Command, given string) string {
	var names []string
	var visit func(*cobra.Command)
	visit = func(other *cobra.Command) {
		other.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && (given == "--"+f.Name || given == "-"+f.Shorthand) {
				names = append(names, strings.TrimPrefix(other.CommandPath(), c.Root().CommandPath()+" "))
			}
		})
		for _, child := range other.Commands() {
			visit(child)
		}
	}
	visit(c.Root())
	if len(names) == 0 {
		return ""
	}
	if len(names) > mostCommands {
		names = append(names[:mostCommands], "other commands")
	}
	list := names[len(names)-1]
	if others := names[:len(names)-1]; len(others) > 0 {
		list = strings.Join(others, ", ") + " and " + list
	}
	return fmt.Sprintf("%s is a flag of %s.", given, list)
}

// mostCommands is the number of commands that a hint names.
const mostCommands = 3

// nearFlag asks whether the user meant a flag of a similar name; "" if none is similar.
func nearFlag(c *cobra.Command, unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return cli.HintIn("--", unknown.GetSpecifiedName(), "", names)
}

// nearValue asks whether the user meant a similar value of a flag with a fixed list of values; "" if none is similar.
func nearValue(err error) string {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if e, ok := invalid.GetFlag().Value.(interface{ Values() []string }); ok {
			return cli.HintIn("--"+invalid.GetFlag().Name+"=", invalid.GetValue(), "", e.Values())
		}
	}
	return ""
}

// refuseUnknown makes the commands that cobra adds, help and completion, refuse unknown arguments as wrong usage.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, words []string) error {
				named, rest, err := root.Find(words)
				switch {
				case err != nil:
					return err
				case named.HasSubCommands():
					return named.ValidateArgs(rest)
				}
				return cli.NoCommand(named, rest)
			}
		case "completion":
			c.Args = cli.NoCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() } // without it, cobra ignores Args
			for _, shell := range c.Commands() {
				shell.Args = cli.NoCommand
			}
		}
	}
}

// NewVersion returns the verb.
func NewVersion(env cli.Environment) *cobra.Command {
	o := &versionOptions{Flags: input.New(env), print: output.NewPrintFlags()}
	c := &cobra.Command{Use: "version", Short: "Show the versions of this program, of Kubernetes and of Fleet",
		Args: cli.NoCommand, ValidArgsFunction: cobra.NoFileCompletions, RunE: cli.RunE(o)}
	o.AddFlags(c.Flags(), "Has no effect: the versions are those of the cluster")
	o.print.AddFlags(c)
	c.Flags().BoolVar(&o.client, "client", false, "Show only the version of this program; read no cluster")
	return c
}

// versionOptions are the flags, and what the verb runs with.
type versionOptions struct {
	*input.Flags
	print  *output.PrintFlags
	show   output.Printer
	client bool
}

// Complete implements cli.Options.
func (o *versionOptions) Complete([]string) error {
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements cli.Options.
func (o *versionOptions) Validate() error {
	if o.client && o.Captured() {
		return errors.New("--client and --snapshot are mutually exclusive: the first reads nothing")
	}
	return nil
}

// Run implements cli.Options. The version of this program is also printed if the cluster could not be read.
func (o *versionOptions) Run(ctx context.Context) error {
	v := &report.Version{APIVersion: report.APIVersion, Kind: report.KindVersion, Client: client(o.Environment),
		Gaps: []report.Gap{}}
	var failed error
	if !o.client {
		failed = o.Read(ctx, func(in *input.Reading) error {
			found, gaps, err := query.Versions(ctx, in.Source, query.Options{Progress: in.Report})
			if err == nil {
				v.Source, v.Gaps = &found, gaps
			}
			return err
		})
		if cli.ExitStatus(failed) == cli.ExitUsage {
			return failed
		}
	}
	document := printers.Version(v, printers.Options{Width: output.Width(o.Streams.Out)})
	if err := o.show.Print(ctx, o.Streams.Out, document); err != nil {
		return err
	}
	return failed
}

// client is the version of this program. The commit is that of the environment or, for a build by the go command, the
// one that this command records.
func client(env cli.Environment) report.ClientVersion {
	out := report.ClientVersion{Version: env.Version, GitCommit: env.Commit, GoVersion: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if built, ok := debug.ReadBuildInfo(); ok && out.GitCommit == "" {
		for _, s := range built.Settings {
			if s.Key == "vcs.revision" {
				out.GitCommit = s.Value
			}
		}
	}
	return out
}

//go:embed words.yaml
var wordsFile []byte

// words returns the states, reasons, causes, and steps of why. The tests prove that each word that the code declares
// is among them.
func words() []report.Topic {
	var out []report.Topic
	if err := yaml.UnmarshalStrict(wordsFile, &out); err != nil {
		return nil
	}
	return out
}

// Topics returns all topics: the findings in the order of their codes, then the other words by their kind.
func Topics() []report.Topic {
	var out []report.Topic
	for _, c := range check.Catalogue() {
		out = append(out, finding(c))
	}
	for _, t := range words() {
		t.URL = check.Pages + "findings.md#" + strings.ToLower(string(t.Kind)) + "-" + strings.ToLower(t.Name)
		if t.Kind == report.TopicStep {
			t.URL = check.Pages + "verbs/why.md#kinds-of-steps"
		}
		out = append(out, t)
	}
	for _, r := range preflight.Rules() {
		out = append(out, report.Topic{Kind: report.TopicRule, Name: r.Name, Severity: r.Severity, What: r.Description,
			URL: preflight.URL(r.Name)})
	}
	for _, r := range ownership.TruthTable {
		plain := r.Situation.Row()
		if plain == string(r.Situation) {
			plain = ""
		}
		out = append(out, report.Topic{Kind: report.TopicSituation, Name: string(r.Situation), Title: plain,
			What: "the object has " + r.Description, Remedy: answers(r),
			URL: check.Pages + "verbs/adopt.md#what-is-taken"})
	}
	return out
}

func finding(c check.Check) report.Topic {
	text := c.Text
	t := report.Topic{Kind: report.TopicFinding, Name: c.Code, Title: c.Name, Severity: report.Severity(c.Severity),
		What: c.Title, Why: text.Explanation, Evidence: text.Evidence, Remedy: text.Remedy, Versions: text.Versions,
		Sections: text.Sections, URL: check.URL(c.Code)}
	for _, issue := range text.Issues { // such as "rancher/fleet#5550"
		t.Issues = append(t.Issues, "https://github.com/"+strings.Replace(issue, "#", "/issues/", 1))
	}
	return t
}

// answers says what the policies of adopt do in a situation.
func answers(r ownership.Rule) string {
	var out []string
	for _, p := range ownership.Policies {
		out = append(out, "--policy="+string(p)+": "+string(r.Answers[p]))
	}
	return strings.Join(out, "; ")
}

// FindTopics returns the topics with a name, in upper or lower case. A word can have several meanings: NotReady is a
// state, a step of why, and the title of a finding.
func FindTopics(topics []report.Topic, name string) []report.Topic {
	return slices.DeleteFunc(slices.Clone(topics), func(t report.Topic) bool {
		return !strings.EqualFold(t.Name, name) && (t.Title == "" || !strings.EqualFold(t.Title, name))
	})
}

// TopicNames lists the words that FindTopics finds, each once, in the order of the topics.
func TopicNames(topics []report.Topic) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range topics {
		for _, name := range []string{t.Name, t.Title} {
			if name != "" && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// NewExplain returns the verb.
func NewExplain(env cli.Environment) *cobra.Command {
	o := &explainOptions{env: env, print: output.NewPrintFlags()}
	c := &cobra.Command{
		Use:   "explain [CODE | STATE | REASON | CAUSE ...]",
		Short: "Explain the codes, states, reasons and causes of the reports",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.RunE(o),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var words []string
			for _, t := range Topics() {
				words = append(words, cobra.CompletionWithDesc(t.Name, t.What))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.print.AddFlags(c)
	o.print.AddColorFlag(c)
	return c
}

// explainOptions are the flags, and what the verb runs with.
type explainOptions struct {
	env    cli.Environment
	print  *output.PrintFlags
	show   output.Printer
	topics []report.Topic
	listed bool // no word was named
}

// Complete implements cli.Options.
func (o *explainOptions) Complete(words []string) error {
	all := Topics()
	if o.listed = len(words) == 0; o.listed {
		o.topics = all
	}
	for _, word := range words {
		found := FindTopics(all, word)
		if len(found) == 0 {
			hint := cli.Hint(word, TopicNames(all))
			if hint == "" {
				hint = o.env.Name + " explain lists all words."
			}
			return &cli.Error{Status: cli.ExitUsage,
				Err: fmt.Errorf("%q is not a code, state, reason, cause, step, rule or "+
					"situation of a report", word), Hint: hint}
		}
		o.topics = append(o.topics, found...)
	}
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements cli.Options.
func (o *explainOptions) Validate() error { return nil }

// Run implements cli.Options.
func (o *explainOptions) Run(ctx context.Context) error {
	out := o.env.Streams.Out
	document := printers.Explanation(report.NewExplanation(o.topics, o.env.Version), o.listed,
		printers.Options{Colour: o.print.Coloured(out), Width: output.Width(out)})
	return o.show.Print(ctx, out, document)
}
