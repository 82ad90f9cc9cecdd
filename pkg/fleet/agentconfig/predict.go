// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Result is a prediction of what a restart of the controller does to an agent.
type Result string

// The results.
const (
	// ReImport: the agent is imported again.
	ReImport Result = "re-import"
	// Import: the agent was never imported, and is imported for the first time.
	Import Result = "import"
	// None: the agent is not imported.
	None Result = "none"
	// Blocked: the controller cannot import the agent, although it may have to.
	Blocked Result = "blocked"
	// Unknown: a fact that decides was not read.
	Unknown Result = "unknown"
)

// Prediction is a result with its reasons.
type Prediction struct {
	Result Result
	// Reasons are the fields that cause the import. With the result Unknown, they may cause it.
	Reasons []Reason
	// Why is a sentence that explains a result that does not follow from the reasons alone: why there is no import, or
	// what is not known.
	Why string
}

const (
	skipLabel    = "fleet.cattle.io/cluster-management"
	localCluster = "local"
)

// Input is what decides about one cluster.
type Input struct {
	Cluster *v1alpha1.Cluster
	// Config is nil if it was not read; ConfigUnread is the reason.
	Config       *Config
	ConfigUnread string
	// SystemNamespace is the namespace of the controller; empty if it is not known.
	SystemNamespace string
	KubeConfig      KubeConfig
	// OtherSecret is a sentence if the kubeconfig Secret of another cluster does not exist or may not exist; empty
	// otherwise. Newer controllers stop at the first such cluster, in an order that is not known.
	OtherSecret string
}

// Predict returns what a restart of a controller of a version does. known is false if the version is not known.
// Source: docs/fleet-behavior.md, 7.3 to 7.5.
func Predict(in Input, v fleet.Version, known bool) Prediction {
	s := in.Cluster.Spec
	switch {
	case s.KubeConfigSecret == "":
		return Prediction{Result: None, Why: "the agent registered itself: the controller never imports it"}
	case !in.Cluster.DeletionTimestamp.IsZero():
		return Prediction{Result: None, Why: "the Cluster is being deleted"}
	case !known:
		return Prediction{Result: Unknown, Why: "the version of the controller is not known"}
	case in.Config == nil:
		return Prediction{Result: Unknown, Why: "the configuration of the controller was not read: " + in.ConfigUnread}
	}
	var all []Prediction
	for _, r := range candidates(v) {
		changed, doubtful := in.settings(r)
		for _, k := range in.KubeConfig.possible() {
			all = append(all, in.predict(r, k, changed), in.predict(r, k, slices.Concat(changed, doubtful)))
		}
	}
	return in.combine(all)
}

// possible returns the Secrets that the data permits.
func (k KubeConfig) possible() []KubeConfig {
	if k.Missing || k.Unread == "" && !k.Hidden {
		return []KubeConfig{k}
	}
	const someURL = "https://hidden.invalid"
	out := []KubeConfig{{}, {URL: someURL}, {HasCA: true}, {URL: someURL, HasCA: true}}
	if k.Unread != "" {
		out = append(out, KubeConfig{Missing: true})
	}
	return out
}

// combine returns the prediction on which all agree, or Unknown.
func (in Input) combine(all []Prediction) Prediction {
	out := all[0]
	for _, p := range all[1:] {
		if p.Result == out.Result {
			out.Reasons = slices.DeleteFunc(out.Reasons, func(r Reason) bool { return !p.has(r.Field) })
			continue
		}
		out = Prediction{Result: Unknown, Why: in.missingFact()}
		for _, p := range all {
			for _, r := range p.Reasons {
				if !out.has(r.Field) {
					out.Reasons = append(out.Reasons, r)
				}
			}
		}
		break
	}
	slices.SortStableFunc(out.Reasons, Reason.compare)
	return out
}

func (p Prediction) has(f Field) bool {
	return slices.ContainsFunc(p.Reasons, func(r Reason) bool { return r.Field == f })
}

// missingFact is the reason why predictions differ.
func (in Input) missingFact() string {
	switch k := in.KubeConfig; {
	case k.Unread != "":
		return "its kubeconfig Secret was not read: " + k.Unread
	case k.Hidden:
		return "the values of its kubeconfig Secret are masked"
	}
	return "it depends on the exact version of the controller or on the order of a list in the spec"
}

// predict predicts by one set of rules with a known Secret. settings are those that are assumed to have changed.
func (in Input) predict(r rules, k KubeConfig, settings []Reason) Prediction {
	c := in.Cluster
	switch {
	case r.skipLabel && Skipped(c):
		return Prediction{Result: None, Why: "the label " + skipLabel + " excludes the Cluster"}
	case r.localDisabled && in.LocalDisabled():
		return Prediction{Result: None, Why: "the configuration disables the agent of the management cluster"}
	}
	own := slices.Concat(in.flags(), settings)
	allowed := !r.namespaces || allowedNamespace(SecretNamespace(c), c.Namespace)
	var configured []Reason
	if allowed && (!r.secretAware || !k.Missing) {
		configured = in.configured(r, k)
	}
	reasons := slices.Concat(own, configured)
	slices.SortStableFunc(reasons, Reason.compare)
	out := Prediction{Result: ReImport, Reasons: reasons}
	if c.Status.AgentDeployedGeneration == nil && c.Status.APIServerCAHash == "" && c.Status.APIServerURL == "" {
		out.Result = Import
	}
	switch {
	case k.Missing && (r.secretAware || len(reasons) > 0):
		out.Result, out.Why = Blocked, "its kubeconfig Secret does not exist"
	case len(reasons) == 0:
		out.Result = None
	case !allowed:
		out.Result, out.Why = Blocked,
			"the controller does not read kubeconfig Secrets in namespace "+SecretNamespace(c)
	case k.URL == "" && in.Config.APIServerURL == "":
		out.Result, out.Why = Blocked, "neither its kubeconfig Secret nor the configuration has an API server URL"
	case r.secretAware && len(own) == 0 && in.OtherSecret != "":
		out.Result, out.Why = Unknown, in.OtherSecret+": the controller may stop before it compares this Cluster"
	case c.Spec.ClientID == "":
		out.Why = "the controller first sets the clientID"
	}
	return out
}

// Skipped reports whether a label excludes the Cluster: this Fleet does not manage its agent. Fleet before 0.13 ignores
// the label.
func Skipped(c *v1alpha1.Cluster) bool { return c.Labels[skipLabel] != "" }

// LocalDisabled reports whether the configuration disables the agent of this Cluster, which is that of the management
// cluster. Only Fleet 0.16 and later know this configuration.
func (in Input) LocalDisabled() bool {
	if in.Config == nil || !in.Config.LocalAgentDisabled {
		return false
	}
	c := in.Cluster
	return c.Name == localCluster && c.Namespace == in.Config.BootstrapNamespace
}

// SecretNamespace returns the namespace of the kubeconfig Secret of a Cluster.
func SecretNamespace(c *v1alpha1.Cluster) string {
	if ns := c.Spec.KubeConfigSecretNamespace; ns != "" {
		return ns
	}
	return c.Namespace
}

// flags returns the flags and generations that cause an import.
func (in Input) flags() []Reason {
	var out []Reason
	spec, s := in.Cluster.Spec, in.Cluster.Status
	if s.AgentConfigChanged {
		out = append(out, Reason{Field: FieldPending, Recorded: "true", Present: "true"})
	}
	legacy := s.Agent.Namespace == LegacyNamespace && in.SystemNamespace != LegacyNamespace &&
		in.Config.BootstrapAgentNamespace != LegacyNamespace
	for _, f := range []struct {
		field Field
		set   bool
	}{{FieldMigrated, s.AgentMigrated}, {FieldCattle, s.CattleNamespaceMigrated && !legacy}, {FieldMigratedNS,
		s.AgentNamespaceMigrated}} {
		if !f.set {
			out = append(out, Reason{Field: f.field, Recorded: "false", Present: "true"})
		}
	}
	if n := s.AgentDeployedGeneration; n == nil || *n != spec.RedeployAgentGeneration {
		recorded := "not recorded"
		if n != nil {
			recorded = strconv.FormatInt(*n, 10)
		}
		out = append(out, Reason{Field: FieldGeneration, Recorded: recorded,
			Present: strconv.FormatInt(spec.RedeployAgentGeneration, 10)})
	}
	if ns := spec.AgentNamespace; ns != "" && ns != s.Agent.Namespace {
		out = append(out, Reason{Field: FieldAgentNamespace, Recorded: s.Agent.Namespace, Present: ns})
	}
	return out
}

// configured returns the values of the configuration that differ from the recorded ones, as far as the controller
// compares them.
func (in Input) configured(r rules, k KubeConfig) []Reason {
	var out []Reason
	cfg, s := in.Config, in.Cluster.Status
	if r.secretAware && k.URL == "" && cfg.APIServerURL == "" {
		return nil
	}
	if (!r.secretAware || k.URL == "") && cfg.APIServerURL != s.APIServerURL {
		out = append(out, Reason{Field: FieldURL, Recorded: escape.Address(s.APIServerURL),
			Present: escape.Address(cfg.APIServerURL)})
	}
	if (!r.secretAware || !k.HasCA) && cfg.CA.Hash != s.APIServerCAHash {
		out = append(out, Reason{Field: FieldCA, Recorded: s.APIServerCAHash, Present: cfg.CA.Hash, CA: &cfg.CA})
	}
	if cfg.AgentTLSMode != s.AgentTLSMode {
		out = append(out, Reason{Field: FieldTLS, Recorded: s.AgentTLSMode, Present: cfg.AgentTLSMode})
	}
	// An interval that cannot be parsed is one that no controller has written.
	recorded, ok := interval(s.GarbageCollectionInterval)
	if r.gc && ok && cfg.GarbageCollectionInterval != recorded {
		out = append(out, Reason{Field: FieldGC, Recorded: orNone(s.GarbageCollectionInterval),
			Present: cfg.GarbageCollectionInterval.String()})
	}
	return out
}

// settings returns the settings in the spec that differ from the recorded ones, and those of which it is not known
// whether the controller finds them changed.
func (in Input) settings(r rules) (changed, doubtful []Reason) {
	spec, s := in.Cluster.Spec, in.Cluster.Status
	compare := func(f Field, recorded, present, sorted string, err error) {
		reason := Reason{Field: f, Recorded: recorded, Present: present}
		switch {
		case err != nil:
			doubtful = append(doubtful, Reason{Field: f, Recorded: recorded, Present: "could not be decoded"})
		// the controller may have sorted the list before it recorded the hash
		case recorded != present && recorded == sorted:
			doubtful = append(doubtful, reason)
		case recorded != present:
			changed = append(changed, reason)
		}
	}
	env, _, err := hashList[corev1.EnvVar](spec.AgentEnvVars, nil)
	compare(FieldEnv, s.AgentEnvVarsHash, env, env, err)
	affinity, err := hashStruct[corev1.Affinity](spec.AgentAffinity)
	compare(FieldAffinity, s.AgentAffinityHash, affinity, affinity, err)
	resources, err := hashStruct[corev1.ResourceRequirements](spec.AgentResources)
	compare(FieldResources, s.AgentResourcesHash, resources, resources, err)
	tolerations, sorted, err := hashList(spec.AgentTolerations, byKey)
	compare(FieldTolerations, s.AgentTolerationsHash, tolerations, sorted, err)
	if r.scheduling {
		scheduling, err := hashStruct[schedulingCustomization](spec.AgentSchedulingCustomization)
		compare(FieldScheduling, s.AgentSchedulingCustomizationHash, scheduling, scheduling, err)
	}
	repo := escape.Address(spec.PrivateRepoURL)
	if spec.PrivateRepoURL != s.AgentPrivateRepoURL {
		changed = append(changed, Reason{Field: FieldRepoURL, Recorded: escape.Address(s.AgentPrivateRepoURL),
			Present: repo})
	}
	if host := spec.HostNetwork != nil && *spec.HostNetwork; r.hostNetwork && host != s.AgentHostNetwork {
		changed = append(changed, Reason{Field: FieldHostNetwork,
			Recorded: strconv.FormatBool(s.AgentHostNetwork), Present: strconv.FormatBool(host)})
	}
	return changed, doubtful
}

// ReloadIgnored returns the reason why a running controller ignores the present configuration until it restarts; empty
// if it does not. annotation is the version in the annotation of the ConfigMap. Source: docs/fleet-behavior.md, 7.3.
func ReloadIgnored(annotation, version string) string {
	v, known := fleet.ParseVersion(version)
	if !known || v.Before(17, 0) || annotation == version {
		return ""
	}
	return fmt.Sprintf("the annotation %s of the configuration is %q and not %q: the running controller ignores it "+
		"until it restarts", VersionAnnotation, annotation, version)
}

// Upgraded is the version for which the prediction after an upgrade is made: the first one that compares only the
// values that a cluster takes from the configuration.
var Upgraded = fleet.Version{Minor: 13}

// rules are what differs between versions of the controller (docs/fleet-behavior.md, 7.3 to 7.5).
type rules struct {
	// secretAware controllers do not compare values that the kubeconfig Secret states.
	secretAware bool
	// gc, hostNetwork and scheduling are true if the controller compares them.
	gc, hostNetwork, scheduling bool
	// namespaces is true if the namespace of the kubeconfig Secret is restricted.
	namespaces bool
	// skipLabel and localDisabled are true if the controller knows the label and the configuration.
	skipLabel, localDisabled bool
}

func rulesOf(v fleet.Version) rules {
	return rules{
		secretAware: !v.Before(13, 0), skipLabel: !v.Before(13, 0), scheduling: !v.Before(14, 0),
		localDisabled: !v.Before(16, 0),
		gc:            !v.Before(10, 2), hostNetwork: !v.Before(10, 1),
		namespaces: restrictsNamespaces(v),
	}
}

// restrictsNamespaces reports whether a version restricts the namespace of the kubeconfig Secret. The change is in
// patches of several minor versions.
func restrictsNamespaces(v fleet.Version) bool {
	if patch, ok := map[int]int{12: 16, 13: 12, 14: 7, 15: 3}[v.Minor]; ok {
		return !v.Before(v.Minor, patch)
	}
	return !v.Before(16, 0)
}

// candidates are the rules that a version may have. A pre-release has those of the version before it or those of its
// release.
func candidates(v fleet.Version) []rules {
	out := []rules{rulesOf(v)}
	if v.Pre {
		v.Pre = false
		if release := rulesOf(v); release != out[0] {
			out = append(out, release)
		}
	}
	return out
}
