// SPDX-License-Identifier: Apache-2.0

package report

// KindVersion is the kind of a Version.
const KindVersion = "VersionReport"

// Version reports the version of this program, and the versions on a cluster.
type Version struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Client     ClientVersion `json:"clientVersion"`
	// Source is the cluster or the snapshot, with the versions of Kubernetes and Fleet; absent if none was read.
	Source *Source `json:"source,omitempty"`
	Gaps   []Gap   `json:"gaps"`
}

// ClientVersion is the version of this program.
type ClientVersion struct {
	Version string `json:"version"`
	// GitCommit is the commit that it was built from, absent if the build does not record it.
	GitCommit string `json:"gitCommit,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"` // operating system/architecture
}
