package capacity

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Stay says why a pod is not moved to another node, in CamelCase; stable. Empty for one that may be.
type Stay string

// The reasons to leave a pod where it is.
const (
	StayProtected Stay = "ProtectedPod" // its owner asked for it by annotation
	StayBare      Stay = "BarePod"      // no controller would make it again
	StayLocal     Stay = "LocalStorage" // what it wrote to its node would be lost
	StayForeign   Stay = "ForeignPod"   // its scheduler is none that Muster answers: nobody knows where it would go
	StayUnjudged  Stay = "UnjudgedPod"  // its needs cannot be judged for another node
)

// Stays says why a pod is to be left where it is; evictLocal lets go of what it wrote to its node. Pods that live and die
// with their node, and those that are leaving anyway, are not asked about. The rules are those of Cluster Autoscaler's FAQ
// ("What types of pods can prevent CA from removing a node?"), but for pods of kube-system, which move like others: a
// PodDisruptionBudget protects them.
func (p *Pod) Stays(s Schedulers, evictLocal bool) Stay {
	switch {
	case p.keep == keepAsked:
		return StayProtected
	case p.Owner == "" && p.keep != keepWaived:
		return StayBare
	case p.local && !evictLocal && p.keep != keepWaived:
		return StayLocal
	case !s.Ours(p.Scheduler):
		return StayForeign
	case p.Ask.Unjudged.Code != "":
		return StayUnjudged
	}
	return ""
}

// Stays is Pod.Stays for the schedulers of this Live.
func (l *Live) Stays(p *Pod, evictLocal bool) Stay { return p.Stays(l.schedulers, evictLocal) }

// Protected says that a pod's owner asked by annotation for it to be left where it is.
func (p *Pod) Protected() bool { return p.keep == keepAsked }

// keep is what a pod's annotations say of its eviction.
type keep int8

const (
	keepUnsaid keep = iota
	keepAsked       // it is to stay
	keepWaived      // it may go, bare or with local storage
)

func keepOf(pod *corev1.Pod) keep {
	safe := pod.Annotations[v1alpha1.SafeToEvictAnnotation]
	switch {
	case pod.Annotations[v1alpha1.DoNotReleaseAnnotation] == "true", pod.Annotations[v1alpha1.DoNotDisruptAnnotation] == "true",
		safe == "false":
		return keepAsked
	case safe == "true":
		return keepWaived
	}
	return keepUnsaid
}

// writesLocally says whether a pod has a volume on its node's own disk: an emptyDir that is not in memory, or a hostPath. Those that
// are listed as safe to lose do not count.
func writesLocally(pod *corev1.Pod) bool {
	safe := pod.Annotations[v1alpha1.SafeLocalVolumesAnnotation]
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		onDisk := v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory
		if (onDisk || v.HostPath != nil) && !lists(safe, v.Name) {
			return true
		}
	}
	return false
}

func lists(names, name string) bool {
	for n := range strings.SplitSeq(names, ",") {
		if strings.TrimSpace(n) == name {
			return true
		}
	}
	return false
}
