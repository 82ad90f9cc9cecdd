// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// FleetYAML has the keys of a fleet.yaml and their types, in structs that embed each other as those of Fleet's API do.
// Which numbers and booleans sigs.k8s.io/yaml reads as a string depends on that: those of a field of the outer struct,
// and not those of a field of an embedded one. Source: the API types of Fleet 0.16.
type FleetYAML struct {
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	BundleSpec
	TargetCustomizations []BundleTarget  `json:"targetCustomizations,omitempty"`
	ImageScans           []ImageScanYAML `json:"imageScans,omitempty"`
	// OverrideTargets is a pointer, because an empty list has a meaning.
	OverrideTargets *[]ClusterTarget `json:"overrideTargets,omitempty"`
}

// ImageScanYAML is an entry of imageScans.
type ImageScanYAML struct {
	Name string `json:"name,omitempty"`
	ImageScanSpec
}

// ImageScanSpec has the options of an image scan.
type ImageScanSpec struct {
	TagName     string          `json:"tagName,omitempty"`
	GitRepoName string          `json:"gitrepoName,omitempty"`
	Image       string          `json:"image,omitempty"`
	Interval    metav1.Duration `json:"interval,omitempty"`
	SecretRef   *nameRef        `json:"secretRef,omitempty"`
	Suspend     bool            `json:"suspend,omitempty"`
	Policy      struct {
		SemVer *struct {
			Range string `json:"range,omitempty"`
		} `json:"semver,omitempty"`
		Alphabetical *struct {
			Order string `json:"order,omitempty"`
		} `json:"alphabetical,omitempty"`
	} `json:"policy"`
}

type nameRef struct {
	Name string `json:"name,omitempty"`
}

// BundleSpec has the options of a bundle.
type BundleSpec struct {
	BundleDeploymentOptions
	Paused                  bool                    `json:"paused,omitempty"`
	RolloutStrategy         *rolloutStrategy        `json:"rolloutStrategy,omitempty"`
	Resources               []bundleResource        `json:"resources,omitempty"`
	TargetCustomizationMode targetCustomizationMode `json:"targetCustomizationMode,omitempty"`
	Targets                 []BundleTarget          `json:"targets,omitempty"`
	TargetRestrictions      []ClusterTarget         `json:"targetRestrictions,omitempty"`
	DependsOn               []bundleRef             `json:"dependsOn,omitempty"`
	ContentsID              string                  `json:"contentsId,omitempty"`
	HelmOpOptions           json.RawMessage         `json:"helmOpOptions,omitempty"`
	ValuesHash              string                  `json:"valuesHash,omitempty"`
}

type targetCustomizationMode string

type bundleResource struct {
	Name     string `json:"name,omitempty"`
	Content  string `json:"content,omitempty"`
	Encoding string `json:"encoding,omitempty"`
}

type bundleRef struct {
	Name           string                `json:"name,omitempty"`
	Selector       *metav1.LabelSelector `json:"selector,omitempty"`
	AcceptedStates []string              `json:"acceptedStates,omitempty"`
}

type rolloutStrategy struct {
	MaxUnavailable           *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MaxUnavailablePartitions *intstr.IntOrString `json:"maxUnavailablePartitions,omitempty"`
	AutoPartitionSize        *intstr.IntOrString `json:"autoPartitionSize,omitempty"`
	AutoPartitionThreshold   *int                `json:"autoPartitionThreshold,omitempty"`
	MaxNew                   *int                `json:"maxNew,omitempty"`
	Partitions               []struct {
		Name                 string                `json:"name,omitempty"`
		MaxUnavailable       *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
		ClusterName          string                `json:"clusterName,omitempty"`
		ClusterSelector      *metav1.LabelSelector `json:"clusterSelector,omitempty"`
		ClusterGroup         string                `json:"clusterGroup,omitempty"`
		ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
	} `json:"partitions,omitempty"`
}

// ClusterTarget selects clusters.
type ClusterTarget struct {
	Name                 string                `json:"name,omitempty"`
	ClusterName          string                `json:"clusterName,omitempty"`
	ClusterSelector      *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	ClusterGroup         string                `json:"clusterGroup,omitempty"`
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// BundleTarget is a target, or a customization, with its options. It does not embed ClusterTarget, nor does Fleet's.
type BundleTarget struct {
	BundleDeploymentOptions
	Name                 string                `json:"name,omitempty"`
	ClusterName          string                `json:"clusterName,omitempty"`
	ClusterSelector      *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	ClusterGroup         string                `json:"clusterGroup,omitempty"`
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
	DoNotDeploy          bool                  `json:"doNotDeploy,omitempty"`
	NamespaceLabels      map[string]string     `json:"namespaceLabels,omitempty"`
	NamespaceAnnotations map[string]string     `json:"namespaceAnnotations,omitempty"`
}

// BundleDeploymentOptions are the options of a bundle that a target can change.
type BundleDeploymentOptions struct {
	GitOpsBundleDeploymentOptions
	DefaultNamespace    string       `json:"defaultNamespace,omitempty"`
	TargetNamespace     string       `json:"namespace,omitempty"`
	Helm                *helmOptions `json:"helm,omitempty"`
	ServiceAccount      string       `json:"serviceAccount,omitempty"`
	CreateNamespace     *bool        `json:"createNamespace,omitempty"`
	ForceSyncGeneration int64        `json:"forceSyncGeneration,omitempty"`
	Diff                *struct {
		ComparePatches []comparePatch `json:"comparePatches,omitempty"`
	} `json:"diff,omitempty"`
	KeepResources   bool `json:"keepResources,omitempty"`
	DeleteNamespace bool `json:"deleteNamespace,omitempty"`
	IgnoreOptions   *struct {
		Conditions []map[string]string `json:"conditions,omitempty"`
	} `json:"ignore,omitempty"`
	CorrectDrift *struct {
		Enabled         bool `json:"enabled,omitempty"`
		Force           bool `json:"force,omitempty"`
		KeepFailHistory bool `json:"keepFailHistory,omitempty"`
	} `json:"correctDrift,omitempty"`
	NamespaceLabels      map[string]string `json:"namespaceLabels,omitempty"`
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
	DeleteCRDResources   bool              `json:"deleteCRDResources,omitempty"`
	DownstreamResources  []struct {
		Kind string `json:"kind,omitempty"`
		Name string `json:"name,omitempty"`
	} `json:"downstreamResources,omitempty"`
	Overwrites []struct {
		Name      string `json:"name,omitempty"`
		Namespace string `json:"namespace,omitempty"`
		Kind      string `json:"kind,omitempty"`
	} `json:"overwrites,omitempty"`
	AllowedTargetNamespaceSelector *metav1.LabelSelector `json:"allowedTargetNamespaceSelector,omitempty"`
}

// GitOpsBundleDeploymentOptions select how the files are used.
type GitOpsBundleDeploymentOptions struct {
	YAML *struct {
		Overlays []string `json:"overlays,omitempty"`
	} `json:"yaml,omitempty"`
	Kustomize *struct {
		Dir string `json:"dir,omitempty"`
	} `json:"kustomize,omitempty"`
}

type comparePatch struct {
	APIVersion   string   `json:"apiVersion,omitempty"`
	Kind         string   `json:"kind,omitempty"`
	Name         string   `json:"name,omitempty"`
	Namespace    string   `json:"namespace,omitempty"`
	JSONPointers []string `json:"jsonPointers,omitempty"`
	Operations   []struct {
		Op    string `json:"op,omitempty"`
		Path  string `json:"path,omitempty"`
		Value string `json:"value,omitempty"`
	} `json:"operations,omitempty"`
}

type helmOptions struct {
	ValuesFiles             []string          `json:"valuesFiles,omitempty"`
	Chart                   string            `json:"chart,omitempty"`
	Repo                    string            `json:"repo,omitempty"`
	ReleaseName             string            `json:"releaseName,omitempty"`
	Version                 string            `json:"version,omitempty"`
	TimeoutSeconds          int               `json:"timeoutSeconds,omitempty"`
	Values                  map[string]any    `json:"values,omitempty"`
	TemplateValues          map[string]string `json:"templateValues,omitempty"`
	ValuesFrom              []valuesFrom      `json:"valuesFrom,omitempty"`
	Force                   bool              `json:"force,omitempty"`
	TakeOwnership           bool              `json:"takeOwnership,omitempty"`
	MaxHistory              int               `json:"maxHistory,omitempty"`
	WaitForJobs             bool              `json:"waitForJobs,omitempty"`
	Atomic                  bool              `json:"atomic,omitempty"`
	DisablePreProcess       bool              `json:"disablePreProcess,omitempty"`
	DisableDNS              bool              `json:"disableDNS,omitempty"`
	SkipSchemaValidation    bool              `json:"skipSchemaValidation,omitempty"`
	DisableDependencyUpdate bool              `json:"disableDependencyUpdate,omitempty"`
}

type valuesFrom struct {
	ConfigMapKeyRef *keySelector `json:"configMapKeyRef,omitempty"`
	SecretKeyRef    *keySelector `json:"secretKeyRef,omitempty"`
}

type keySelector struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Key       string `json:"key,omitempty"`
}

// decode reads a fleet.yaml as fleet apply does, and returns it as JSON. The error does not quote the text; field is
// the path of the key with a wrong type, empty if it is not known.
func decode(data []byte) (out []byte, field string, err error) {
	var f FleetYAML
	var metadata struct {
		metav1.ObjectMeta `json:",inline"`
	}
	if err = yaml.Unmarshal(data, &f); err == nil {
		err = yaml.Unmarshal(data, &metadata) // name, labels and annotations, with types of their own
	}
	if err == nil {
		out, err = json.Marshal(&f)
		return out, "", err
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return nil, "", errors.New("one of its values has a wrong format")
	case wrong.Field == "":
		return nil, "", errors.New("it is not a map of bundle options")
	}
	var keys []string
	for _, key := range strings.Split(wrong.Field, ".") {
		if !unicode.IsUpper(rune(key[0])) { // the name of an embedded struct
			keys = append(keys, key)
		}
	}
	field = strings.Join(keys, ".")
	return nil, field, fmt.Errorf("%s has a wrong type", field)
}
