// Package manifest reads the files that people give to Muster's commands: the pools file (NodePools and Providers, the
// same YAML that `kubectl apply` takes) and the cluster file (what `kubectl get ... -o yaml|json` writes). It reads
// strictly: unknown and doubled fields, wrong types, values the API server would refuse and names that appear twice are
// errors, and every error names the file, the line and the field. Muster's own kinds are judged by the schemas and CEL
// rules of deploy/crds, so no rule is spelled twice. It decides nothing and talks to no API server.
package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// The largest input of each kind, in bytes: all files of one call together.
const (
	MaxPoolsBytes   = 16 << 20
	MaxClusterBytes = 512 << 20
)

// Pools is what a pools file holds, in the order of the files. Defaults are filled in as the API server does.
type Pools struct {
	Pools     []*v1alpha1.NodePool
	Providers []*v1alpha1.Provider
	Hosts     []*v1alpha1.Host
}

// Cluster is what a cluster file holds, in the order of the files. Objects that were written by hand get what the API
// server would have given them and Muster relies on: a namespace, a UID (namespace and name), a phase, a scheduler's
// name, and requests where only limits are given.
type Cluster struct {
	Nodes         []*corev1.Node
	Pods          []*corev1.Pod
	DaemonSets    []*appsv1.DaemonSet
	Namespaces    []*corev1.Namespace
	Claims        []*v1alpha1.NodeClaim
	DeviceClasses []*resourcev1.DeviceClass
	// Storage is what decides where volumes can be had: PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINodes,
	// CSIDrivers, CSIStorageCapacities and VolumeAttachments.
	Storage []metav1.Object
	Budgets []*policyv1.PodDisruptionBudget

	// Ignored counts the objects of every other kind, by kind and group, for example "Deployment.apps".
	Ignored map[string]int
}

// ReadPools reads NodePools, Providers and Hosts from the files at paths; "-" is standard input. Any other kind is an
// error, and so is a set of files without a NodePool. The error is of type Errors where the content is at fault.
func ReadPools(paths ...string) (*Pools, error) {
	sources, err := open(paths, MaxPoolsBytes)
	if err != nil {
		return nil, err
	}
	return readPools(sources)
}

// ReadCluster reads a cluster from the files at paths; "-" is standard input. Kinds that play no part in a plan are
// counted in Ignored. The error is of type Errors where the content is at fault.
func ReadCluster(paths ...string) (*Cluster, error) {
	sources, err := open(paths, MaxClusterBytes)
	if err != nil {
		return nil, err
	}
	return readCluster(sources)
}
