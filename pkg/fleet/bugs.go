// SPDX-License-Identifier: Apache-2.0

package fleet

// Bug is a known bug of Fleet that makes a number in a status wrong.
type Bug struct {
	// Issue is where it is described, such as "rancher/fleet#3203".
	Issue string
	// What says in one sentence what these versions do.
	What string
	in   func(v Version) bool
}

// In reports whether the version that a tag names has the bug. It is false for a version that is not known.
func (b *Bug) In(tag string) bool {
	v, known := ParseVersion(tag)
	return known && b.in(v)
}

// Known bugs in the numbers of a status (docs/fleet-behavior.md, 4.6).
var (
	// BugClusterCounts affects the counts of a Cluster. The version is that of the controller.
	BugClusterCounts = Bug{Issue: "rancher/fleet#3102",
		What: "a Cluster counts the objects that its GitRepos have on all clusters",
		in:   func(v Version) bool { return v.Before(10, 8) || v.Minor == 11 && v.Before(11, 3) }}
	// BugTruncatedCounts affects the counts of a GitRepo or Cluster. The version is that of the controller.
	BugTruncatedCounts = Bug{Issue: "rancher/fleet#3203",
		What: "counts come from lists that end at ten objects, and objects of one bundle deployment in error count " +
			"for all",
		in: func(v Version) bool { return v.Before(12, 0) }}
	// BugReadyClusters affects the ready clusters of a GitRepo. The version is that of the controller.
	BugReadyClusters = Bug{Issue: "rancher/fleet#3008",
		What: "the ready clusters of a GitRepo are those of one of its bundles",
		in:   func(v Version) bool { return v.Before(11, 0) }}
	// BugReplicas affects workloads that an autoscaler scales. The version is that of the agent, as for the following
	// ones.
	BugReplicas = Bug{Issue: "rancher/fleet#4029",
		What: "a number of replicas that an autoscaler set is reported as modified",
		in:   func(v Version) bool { return v.Before(15, 0) }}
	// BugCABundle affects webhook configurations.
	BugCABundle = Bug{Issue: "rancher/fleet#5368", What: "an injected caBundle is reported as modified",
		in: func(v Version) bool { return v.Before(15, 6) || v.Minor == 16 && v.Before(16, 1) }}
	// BugDefaults affects all kinds.
	BugDefaults = Bug{Issue: "rancher/fleet#5020",
		What: "defaults that the API server sets are reported as modified, and fields set to null are not",
		in:   func(v Version) bool { return v.Minor == 15 && !v.Before(15, 0) && v.Before(15, 3) }}
)
