// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

const (
	rancher = "https://rancher.example"
	other   = "https://other.example"
)

// imported is a cluster that was imported with URL and CA of its kubeconfig Secret, as Rancher's downstream clusters
// are, and a configuration without them.
func imported() Input {
	c := &v1alpha1.Cluster{}
	c.Namespace, c.Name = "fleet-default", "c-m-abcdefgh"
	c.Spec.KubeConfigSecret, c.Spec.ClientID = "c-m-abcdefgh-kubeconfig", "client"
	quarter := "15m0s"
	c.Status.AgentRecord = v1alpha1.AgentRecord{AgentDeployedGeneration: new(int64), AgentMigrated: true,
		AgentNamespaceMigrated: true, CattleNamespaceMigrated: true,
		APIServerURL: rancher, APIServerCAHash: HashCA([]byte("foo")), AgentTLSMode: "strict",
		GarbageCollectionInterval: &quarter}
	c.Status.Agent.Namespace = "cattle-fleet-system"
	return Input{Cluster: c, SystemNamespace: "cattle-fleet-system",
		Config: &Config{CA: CA{Hash: emptyCA}, AgentTLSMode: "strict", GarbageCollectionInterval: 15 * time.Minute,
			BootstrapNamespace: "fleet-local"},
		KubeConfig: KubeConfig{URL: rancher, HasCA: true, CA: CA{Hash: HashCA([]byte("foo"))}}}
}

// fromConfig is a cluster that was imported with URL and CA of the configuration.
func fromConfig() Input {
	in := imported()
	in.KubeConfig = KubeConfig{}
	in.Config.APIServerURL, in.Config.CA.Hash = rancher, HashCA([]byte("foo"))
	return in
}

// outcome is a result with the fields of its reasons.
func outcome(in Input, version string) string {
	v, known := fleet.ParseVersion(version)
	p := Predict(in, v, known)
	var fields []string
	for _, r := range p.Reasons {
		fields = append(fields, string(r.Field))
	}
	return strings.TrimSpace(string(p.Result) + " " + strings.Join(fields, ","))
}

// importAll is the result for a cluster that was never imported: all fields lead to an import.
const importAll = "import agentMigrated,cattleNamespaceMigrated,agentNamespaceMigrated,redeployAgentGeneration," +
	"apiServerURL,apiServerCA,agentTLSMode"

// TestPredict has the edge cases of docs/fleet-behavior.md, 7.3 to 7.5: the same data in 0.10.1, 0.12 and 0.13.
func TestPredict(t *testing.T) {
	for _, tc := range []struct {
		name   string
		from   func() Input
		change func(in *Input)
		want   [3]string // of 0.10.1, 0.12.4, 0.16.1
	}{
		{"the Secret has URL and CA", imported, nil,
			[3]string{"re-import apiServerURL,apiServerCA", "re-import apiServerURL,apiServerCA", "none"}},
		{"the configuration has URL and CA", fromConfig, nil, [3]string{"none", "none", "none"}},
		{"both have them", fromConfig, func(in *Input) {
			in.KubeConfig = imported().KubeConfig
		}, [3]string{"none", "none", "none"}},
		{"both have them and differ", fromConfig, func(in *Input) {
			in.KubeConfig = imported().
				KubeConfig
			in.Config.APIServerURL = other
		},
			[3]string{"re-import apiServerURL", "re-import apiServerURL", "none"}},
		{"neither has a URL", fromConfig, func(in *Input) { in.Config.APIServerURL = "" },
			[3]string{"blocked apiServerURL", "blocked apiServerURL", "none"}},
		{"only the Secret has a URL", imported, func(in *Input) {
			in.KubeConfig.HasCA = false
			in.Cluster.Status.APIServerCAHash = emptyCA
		}, [3]string{"re-import apiServerURL", "re-import apiServerURL", "none"}},
		{"the URL of the configuration changed", fromConfig, func(in *Input) { in.Config.APIServerURL = other },
			[3]string{"re-import apiServerURL", "re-import apiServerURL", "re-import apiServerURL"}},
		{"the CA of the configuration changed, the Secret has a URL and no CA", imported, func(in *Input) {
			in.KubeConfig.HasCA = false
			in.Config.APIServerURL, in.Config.CA.Hash = rancher, HashCA([]byte("new"))
		}, [3]string{"re-import apiServerCA", "re-import apiServerCA", "re-import apiServerCA"}},
		{"the CA of the configuration changed, the Secret has a CA and no URL", imported, func(in *Input) {
			in.KubeConfig.URL = ""
			in.Config.APIServerURL, in.Config.CA.Hash = rancher, HashCA([]byte("new"))
		}, [3]string{"re-import apiServerCA", "re-import apiServerCA", "none"}},
		{"the key of the CA is removed", fromConfig, func(in *Input) {
			in.Cluster.Status.APIServerCAHash, in.Config.CA.Hash = emptyCA, absentCA
		}, [3]string{"re-import apiServerCA", "re-import apiServerCA", "re-import apiServerCA"}},
		{"the TLS mode changed", fromConfig, func(in *Input) { in.Config.AgentTLSMode = "system-store" },
			[3]string{"re-import agentTLSMode", "re-import agentTLSMode", "re-import agentTLSMode"}},
		{"the TLS mode changed without any URL", fromConfig, func(in *Input) {
			in.Config.AgentTLSMode, in.Config.APIServerURL, in.Cluster.Status.APIServerURL = "system-store", "", ""
		}, [3]string{"blocked agentTLSMode", "blocked agentTLSMode", "none"}},
		{"the collection interval was not recorded", fromConfig, func(in *Input) {
			in.Cluster.Status.GarbageCollectionInterval = nil
		},
			[3]string{"none", "re-import garbageCollectionInterval", "re-import garbageCollectionInterval"}},
		{"the collection interval was not recorded and is not configured", fromConfig, func(in *Input) {
			in.Cluster.Status.GarbageCollectionInterval, in.Config.GarbageCollectionInterval = nil, 0
		}, [3]string{"none", "none", "none"}},
		{"the collection interval was removed", fromConfig, func(in *Input) { in.Config.GarbageCollectionInterval = 0 },
			[3]string{"none", "re-import garbageCollectionInterval", "re-import garbageCollectionInterval"}},
		{"the collection interval is written in another way", fromConfig, func(in *Input) {
			in.Cluster.Status.GarbageCollectionInterval = ptr("900s")
		},
			[3]string{"none", "none", "none"}},
		{"the generation was raised", fromConfig, func(in *Input) { in.Cluster.Spec.RedeployAgentGeneration = 2 },
			[3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration",
				"re-import redeployAgentGeneration"}},
		{"another agent namespace", fromConfig, func(in *Input) { in.Cluster.Spec.AgentNamespace = "agents" },
			[3]string{"re-import agentNamespace", "re-import agentNamespace", "re-import agentNamespace"}},
		{"the same agent namespace", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentNamespace = "cattle-fleet-system"
		}, [3]string{"none", "none", "none"}},
		{"marked as changed", fromConfig, func(in *Input) { in.Cluster.Status.AgentConfigChanged = true },
			[3]string{"re-import agentConfigChanged", "re-import agentConfigChanged", "re-import agentConfigChanged"}},
		{"not migrated", fromConfig, func(in *Input) { in.Cluster.Status.AgentMigrated = false },
			[3]string{"re-import agentMigrated", "re-import agentMigrated", "re-import agentMigrated"}},
		{"the legacy namespace", fromConfig, func(in *Input) { in.Cluster.Status.Agent.Namespace = "fleet-system" },
			[3]string{"re-import cattleNamespaceMigrated", "re-import cattleNamespaceMigrated",
				"re-import cattleNamespaceMigrated"}},
		{"the legacy namespace, chosen", fromConfig, func(in *Input) {
			in.Cluster.Status.Agent.Namespace, in.Config.BootstrapAgentNamespace = "fleet-system", "fleet-system"
		}, [3]string{"none", "none", "none"}},
		{"an agent that registered itself", imported, func(in *Input) {
			in.Cluster.Spec.KubeConfigSecret = ""
		}, [3]string{"none", "none", "none"}},
		{"being deleted", imported, func(in *Input) {
			in.Cluster.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}, [3]string{"none", "none", "none"}},
		{"the label that excludes it", fromConfig, func(in *Input) {
			in.Cluster.Labels = map[string]string{"fleet.cattle.io/cluster-management": "other"}
			in.Cluster.Spec.RedeployAgentGeneration = 2
		}, [3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration", "none"}},
		{"the agent of the management cluster is disabled", fromConfig, func(in *Input) {
			in.Cluster.Namespace, in.Cluster.Name, in.Config.LocalAgentDisabled = "fleet-local", "local", true
			in.Cluster.Spec.RedeployAgentGeneration = 2
		}, [3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration", "none"}},
		{"another cluster, while that agent is disabled", fromConfig, func(in *Input) {
			in.Config.LocalAgentDisabled = true
			in.Cluster.Spec.RedeployAgentGeneration = 2
		}, [3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration",
			"re-import redeployAgentGeneration"}},
		{"never imported", fromConfig, func(in *Input) { in.Cluster.Status = v1alpha1.ClusterStatus{} },
			[3]string{
				importAll,
				importAll + ",garbageCollectionInterval",
				importAll + ",garbageCollectionInterval",
			}},
		{"its Secret is missing", fromConfig, func(in *Input) { in.KubeConfig = KubeConfig{Missing: true} },
			[3]string{"none", "none", "blocked"}},
		{"its Secret is missing and something changed", fromConfig, func(in *Input) {
			in.KubeConfig = KubeConfig{Missing: true}
			in.Config.AgentTLSMode = "system-store"
		}, [3]string{"blocked agentTLSMode", "blocked agentTLSMode", "blocked"}},
		{"the Secret of another cluster is missing", fromConfig, func(in *Input) {
			in.OtherSecret, in.Config.APIServerURL = "the Secret of another cluster does not exist", other
		}, [3]string{"re-import apiServerURL", "re-import apiServerURL", "unknown apiServerURL"}},
		{"the Secret of another cluster is missing, and the spec changed", fromConfig, func(in *Input) {
			in.OtherSecret, in.Cluster.Spec.RedeployAgentGeneration = "the Secret of another cluster does not exist", 2
		}, [3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration",
			"re-import redeployAgentGeneration"}},
		{"its Secret is in a namespace that newer controllers do not read", imported, func(in *Input) {
			in.Cluster.Spec.KubeConfigSecretNamespace, in.Config.APIServerURL, in.KubeConfig = "vault", other,
				KubeConfig{}
		}, [3]string{"re-import apiServerURL,apiServerCA", "re-import apiServerURL,apiServerCA", "none"}},
		{"in such a namespace, and the spec changed", fromConfig, func(in *Input) {
			in.Cluster.Spec.KubeConfigSecretNamespace, in.Cluster.Spec.RedeployAgentGeneration = "vault", 2
		}, [3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration",
			"blocked redeployAgentGeneration"}},
		{"no clientID yet", fromConfig, func(in *Input) {
			in.Cluster.Spec.ClientID, in.Cluster.Spec.RedeployAgentGeneration = "", 2
		},
			[3]string{"re-import redeployAgentGeneration", "re-import redeployAgentGeneration",
				"re-import redeployAgentGeneration"}},
		{"the host network", fromConfig, func(in *Input) { in.Cluster.Spec.HostNetwork = ptr(true) },
			[3]string{"re-import hostNetwork", "re-import hostNetwork", "re-import hostNetwork"}},
		{"no host network", fromConfig, func(in *Input) {
			in.Cluster.Spec.HostNetwork = ptr(false)
		}, [3]string{"none", "none", "none"}},
		{"a private registry", fromConfig, func(in *Input) { in.Cluster.Spec.PrivateRepoURL = "registry.example.com" },
			[3]string{"re-import privateRepoURL", "re-import privateRepoURL", "re-import privateRepoURL"}},
		{"variables were added", fromConfig,
			func(in *Input) { in.Cluster.Spec.AgentEnvVars = json.RawMessage(`[{"name":"FOO","value":"bar"}]`) },
			[3]string{"re-import agentEnvVars", "re-import agentEnvVars", "re-import agentEnvVars"}},
		{"variables that were recorded", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentEnvVars = json.RawMessage(`[{"name":"FOO","value":"bar"}]`)
			in.Cluster.Status.AgentEnvVarsHash = "b2d520a40b379ff5bdbf5440a0611debf770dfecdfe3eddaec073255"
		}, [3]string{"none", "none", "none"}},
		{"variables were removed", fromConfig, func(in *Input) { in.Cluster.Status.AgentEnvVarsHash = "b2d520a4" },
			[3]string{"re-import agentEnvVars", "re-import agentEnvVars", "re-import agentEnvVars"}},
		{"a scheduling customization", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentSchedulingCustomization = json.RawMessage(`{"priorityClass":{"value":5}}`)
		}, [3]string{"none", "none", "re-import agentSchedulingCustomization"}},
		{"tolerations that were recorded", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentTolerations = json.RawMessage(`[{"key":"k","operator":"Exists",` +
				`"effect":"NoSchedule"}]`)
			in.Cluster.Status.AgentTolerationsHash = keyToleration
		}, [3]string{"none", "none", "none"}},
		{"tolerations that were recorded in another order", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentTolerations = json.RawMessage(`[{"key":"b"},{"key":"a"}]`)
			_, in.Cluster.Status.AgentTolerationsHash, _ = hashList(in.Cluster.Spec.AgentTolerations, byKey)
		}, [3]string{"unknown agentTolerations", "unknown agentTolerations", "unknown agentTolerations"}},
		{"tolerations changed", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentTolerations = json.RawMessage(`[{"key":"b"},{"key":"a"}]`)
			in.Cluster.Status.AgentTolerationsHash = keyToleration
		}, [3]string{"re-import agentTolerations", "re-import agentTolerations", "re-import agentTolerations"}},
		{"resources that cannot be decoded", fromConfig,
			func(in *Input) { in.Cluster.Spec.AgentResources = json.RawMessage(`{"limits":{"cpu":"much"}}`) },
			[3]string{"unknown agentResources", "unknown agentResources", "unknown agentResources"}},
		{"resources in another notation", fromConfig, func(in *Input) {
			in.Cluster.Spec.AgentResources = json.RawMessage(`{"limits":{"cpu":"1000m"}}`)
			one := json.RawMessage(`{"limits":{"cpu":"1"}}`)
			in.Cluster.Status.AgentResourcesHash, _ = hashStruct[map[string]map[string]string](one)
		}, [3]string{"none", "none", "none"}},
		// What was not read: the result is only known if it does not depend on it.
		{"the configuration was not read", fromConfig, func(in *Input) { in.Config = nil },
			[3]string{"unknown", "unknown", "unknown"}},
		{"the Secret was not read, nothing changed", fromConfig, func(in *Input) {
			in.KubeConfig = KubeConfig{Unread: "Forbidden"}
		},
			[3]string{"none", "none", "unknown"}},
		{"the Secret is masked, nothing changed", fromConfig, func(in *Input) {
			in.KubeConfig = KubeConfig{Hidden: true}
		}, [3]string{"none", "none", "none"}},
		{"the Secret is masked, the URL changed", fromConfig, func(in *Input) {
			in.KubeConfig, in.Config.APIServerURL = KubeConfig{Hidden: true}, other
		},
			[3]string{"re-import apiServerURL", "re-import apiServerURL", "unknown apiServerURL"}},
		{"the Secret is masked, the configuration has no URL", imported, func(in *Input) {
			in.KubeConfig = KubeConfig{Hidden: true}
		},
			[3]string{"unknown apiServerURL,apiServerCA", "unknown apiServerURL,apiServerCA", "unknown apiServerCA"}},
		{"the Secret is masked, the TLS mode changed", fromConfig, func(in *Input) {
			in.KubeConfig, in.Config.AgentTLSMode = KubeConfig{Hidden: true}, "system-store"
		}, [3]string{"re-import agentTLSMode", "re-import agentTLSMode", "re-import agentTLSMode"}},
	} {
		in := tc.from()
		if tc.change != nil {
			tc.change(&in)
		}
		var got [3]string
		for i, v := range []string{"v0.10.1", "v0.12.4", "v0.16.1"} {
			got[i] = outcome(in, v)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if unknown := outcome(in, "dev"); in.Cluster.Spec.KubeConfigSecret != "" &&
			in.Cluster.DeletionTimestamp == nil && unknown != "unknown" {
			t.Errorf("%s: the version is not known, and the result is %s", tc.name, unknown)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// TestBoundaries has the versions in which a rule begins (docs/fleet-behavior.md, 7.3 to 7.5).
func TestBoundaries(t *testing.T) {
	gc := fromConfig()
	gc.Cluster.Status.GarbageCollectionInterval = nil
	host := fromConfig()
	host.Cluster.Spec.HostNetwork = ptr(true)
	scheduling := fromConfig()
	scheduling.Cluster.Spec.AgentSchedulingCustomization = json.RawMessage(`{}`)
	disabled := fromConfig()
	disabled.Cluster.Namespace, disabled.Cluster.Name, disabled.Config.LocalAgentDisabled = "fleet-local", "local", true
	disabled.Cluster.Status.AgentConfigChanged = true
	namespace := fromConfig()
	namespace.Cluster.Spec.KubeConfigSecretNamespace, namespace.Cluster.Status.AgentConfigChanged = "vault", true
	for _, tc := range []struct {
		name     string
		in       Input
		versions string // the result by version
	}{
		{"collection interval", gc,
			"v0.10.0 none, v0.10.1 none, v0.10.2 re-import, v0.11.0 re-import, v105.0.0-up0.12.0 re-import"},
		{"host network", host, "v0.10.0 none, v0.10.1 re-import"},
		{"Secret", imported(), "v0.12.16 re-import, v0.13.0-rc.1 unknown, v0.13.0 none, v0.13.1-rc.1 none, " +
			"v0.17.0-alpha.1 none, v106.0.0-up0.13.0 none"},
		{"scheduling", scheduling, "v0.13.5 none, v0.14.0-rc.1 unknown, v0.14.0 re-import"},
		{"disabled agent", disabled, "v0.15.6 re-import, v0.16.0-rc.1 unknown, v0.16.0 none"},
		{"namespace of the Secret", namespace,
			"v0.11.9 re-import, v0.12.15 re-import, v0.12.16 blocked, v0.13.11 re-import, v0.13.12 blocked, v0.14.6 " +
				"re-import, " +
				"v0.14.7 blocked, v0.15.2 re-import, v0.15.3 blocked, v0.16.0 blocked, v0.17.0 blocked"},
	} {
		var got []string
		for part := range strings.SplitSeq(tc.versions, ", ") {
			version, _, _ := strings.Cut(part, " ")
			result, _, _ := strings.Cut(outcome(tc.in, version), " ")
			got = append(got, version+" "+result)
		}
		if diff := cmp.Diff(tc.versions, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestAllowedNamespaces has the namespaces in which newer controllers read kubeconfig Secrets (docs/fleet-behavior.md,
// 7.4).
func TestAllowedNamespaces(t *testing.T) {
	for namespace, want := range map[string]bool{
		"team-a":      true, // that of the Cluster
		"fleet-local": true, "fleet-default": true, "cattle-fleet-system": true, "fleet-system": true,
		"cattle-fleet-clusters-system": true,
		"fleet-clusters-system":        true, "cluster-fleet-default-c-1": true, "vault": false, "clusters": false,
		"cattle-system": false,
	} {
		if allowedNamespace(namespace, "team-a") != want {
			t.Errorf("%s: %v", namespace, !want)
		}
	}
}

func TestReasons(t *testing.T) {
	in := fromConfig()
	in.Config.APIServerURL = "https://user:s3cr3t@other.example"
	in.Config.CA = CA{Hash: HashCA([]byte("new")), Subject: "CN=new"}
	v, known := fleet.ParseVersion("v0.14.3")
	got := Predict(in, v, known).Reasons
	want := []Reason{{Field: FieldURL, Recorded: rancher, Present: "https://other.example"},
		{Field: FieldCA, Recorded: HashCA([]byte("foo")), Present: HashCA([]byte("new")),
			CA: &CA{Hash: HashCA([]byte("new")), Subject: "CN=new"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if !FieldCA.Configured() || FieldEnv.Configured() || !FieldEnv.Setting() || FieldGC.Setting() {
		t.Error("the kind of a field is wrong")
	}
}

// TestReloadIgnored: the annotation only matters to a running controller.
func TestReloadIgnored(t *testing.T) {
	for _, tc := range []struct {
		annotation, version string
		ignored             bool
	}{
		{"v0.17.0", "v0.17.0", false}, {"v0.16.1", "v0.17.0", true}, {"", "v0.17.1", true}, {"", "v0.16.1", false},
		{"", "dev", false},
	} {
		if got := ReloadIgnored(tc.annotation, tc.version); (got != "") != tc.ignored {
			t.Errorf("%q in %s: %q", tc.annotation, tc.version, got)
		}
	}
}
