// SPDX-License-Identifier: Apache-2.0

package v1alpha1

//go:generate go tool -modfile=../../../test/controller-gen/go.mod controller-gen crd:maxDescLen=0 paths=. output:crd:dir=../../../test/cluster/crds
