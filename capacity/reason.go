package capacity

import corev1 "k8s.io/api/core/v1"

// Code names a reason for metrics, conditions and tests: CamelCase, stable.
type Code string

// The reasons why a pod does not go on a node, or why no machine is bought for it.
const (
	CodeInsufficient    Code = "Insufficient"    // the node lacks room of a resource
	CodeTooManyPods     Code = "TooManyPods"     // the node's pod count is used up
	CodeAffinity        Code = "NodeAffinity"    // selector or required affinity does not match
	CodeTaint           Code = "Taint"           // an untolerated taint
	CodeUnschedulable   Code = "Unschedulable"   // cordoned
	CodeStarting        Code = "Starting"        // one of ours that is not initialized
	CodeReleasing       Code = "Releasing"       // one of ours that is being released
	CodeReserved        Code = "Reserved"        // its room is kept for the pods it was ordered for
	CodeUnknownNode     Code = "UnknownNode"     // not in Muster's view (yet)
	CodeRefused         Code = "RefusedInTree"   // kube-scheduler's own filters refused it
	CodeHostPorts       Code = "HostPorts"       // another pod on the node has a host port
	CodeTopologyKey     Code = "TopologyKey"     // the node lacks a label that a spread constraint counts by
	CodeTopologySpread  Code = "TopologySpread"  // the pods would be spread too unevenly
	CodePodAffinity     Code = "PodAffinity"     // the pods it has to be near are not near
	CodePodAntiAffinity Code = "PodAntiAffinity" // a pod it keeps away from is near
	CodeAvoided         Code = "Avoided"         // a pod that keeps away from it is near
	CodePreference      Code = "Preference"      // a preference, while it counts as hard
	CodeSelector        Code = "InvalidSelector" // a selector of a rule about other pods does not parse
	CodeInvalid         Code = "InvalidRequest"  // a request is negative or too large to be counted
	CodeSchedulingGroup Code = "SchedulingGroup" // filter calls for groups are reverted by the scheduler
	CodeResourceClaims  Code = "ResourceClaims"  // dynamic resources cannot be judged for a machine that is not there
	CodeNoPool          Code = "NoPool"          // there is no pool at all
	CodePoolLimit       Code = "PoolLimit"       // a pool would do, but may not grow
	CodePoolBackoff     Code = "PoolBackoff"     // a pool would do, but its last machines failed
	CodePoolNotReady    Code = "PoolNotReady"    // a pool would do, but its provider is missing or not usable
	CodePoolFrozen      Code = "PoolFrozen"      // a pool would do, but people have stopped its provisioning
	CodeTooLarge        Code = "TooLarge"        // no shape has so much room
	CodeNotReached      Code = "NotReached"      // the plan ran out of effort before it came to the pod
	CodeTooManyWait     Code = "TooManyWait"     // so many pods lack room that this one is not planned for yet
	CodeBought          Code = "BoughtInVain"    // machines came up for such pods and did not take them
	CodePreemptNever    Code = "PreemptNever"    // the pod's preemptionPolicy is Never
	CodeNotOurs         Code = "NotOurs"         // another scheduler makes room for the pod
	CodeNoVictims       Code = "NoVictims"       // no node where pods of lower priority could make room
	CodeProtected       Code = "Protected"       // those who would make room are kept by the Eviction API
	CodePreemptVain     Code = "PreemptedInVain" // room was made for the pod and it did not take it

	CodeClaimMissing     Code = "ClaimMissing"     // a PersistentVolumeClaim does not exist
	CodeClaimUnmade      Code = "ClaimUnmade"      // the claim of a generic ephemeral volume was not made yet
	CodeClaimLost        Code = "ClaimLost"        // its PersistentVolume is gone
	CodeClaimDeleting    Code = "ClaimDeleting"    // it is being deleted
	CodeClaimForeign     Code = "ClaimForeign"     // it has the name of an ephemeral volume's claim and is not the pod's
	CodeClaimUnbound     Code = "ClaimUnbound"     // it is bound by its class, not with the pod, and is not bound yet
	CodeVolumeMissing    Code = "VolumeMissing"    // bound to a PersistentVolume that does not exist
	CodeVolumeUnreadable Code = "VolumeUnreadable" // the scheduler itself fails on it
	CodeVolumeAffinity   Code = "VolumeAffinity"   // the node does not reach the volume
	CodeVolumeZone       Code = "VolumeZone"       // the volume's zone labels are not the node's
	CodeVolumeInUse      Code = "VolumeInUse"      // ReadWriteOncePod, and another pod has it
	CodeDiskConflict     Code = "DiskConflict"     // a pod on the node has the same disk
	CodeTooManyVolumes   Code = "TooManyVolumes"   // the node's CSI driver attaches no more
	CodeNoVolume         Code = "NoVolume"         // none to bind to, and none can be made that the node would reach
	CodeNoStorage        Code = "NoStorage"        // the CSI driver has no room where the node reaches it
)

// Reason says why, in one spelling for the extender's answer, the pod's condition and event, the log and the test. The
// zero Reason means that nothing stands in the way.
type Reason struct {
	Code Code
	// Detail completes the text: a resource's name, a taint, a pool.
	Detail string
}

// String is the text people read; for what the in-tree plugins also refuse, it is their wording (noderesources,
// nodeaffinity, tainttoleration and nodeunschedulable), so that `kubectl describe pod` reads as usual.
func (r Reason) String() string {
	switch r.Code {
	case "":
		return ""
	case CodeInsufficient:
		return "Insufficient " + r.Detail
	case CodeTooManyPods:
		return "Too many pods"
	case CodeAffinity:
		return "node(s) didn't match Pod's node affinity/selector"
	case CodeTaint:
		return "node(s) had untolerated taint(s)"
	case CodeUnschedulable:
		return "node(s) were unschedulable"
	case CodeStarting:
		return "node(s) are still starting"
	case CodeReleasing:
		return "node(s) are being released"
	case CodeReserved:
		return "node(s) keep their room for other pods"
	case CodeUnknownNode:
		return "node(s) not yet seen by Muster"
	case CodeHostPorts:
		return "node(s) didn't have free ports for the requested pod ports"
	case CodeTopologyKey:
		return "node(s) didn't match pod topology spread constraints (missing required label)"
	case CodeTopologySpread:
		return "node(s) didn't match pod topology spread constraints"
	case CodePodAffinity:
		return "node(s) didn't match pod affinity rules"
	case CodePodAntiAffinity:
		return "node(s) didn't match pod anti-affinity rules"
	case CodeAvoided:
		return "node(s) didn't satisfy existing pods anti-affinity rules"
	}
	return r.poolText()
}

// OfPool is the text for people about a pool's nodes. It says what String leaves out in order to read as kube-scheduler does: which
// taint it is, since the operator wrote it.
func (r Reason) OfPool() string {
	if r.Code == CodeTaint && r.Detail != "" {
		return "the pod does not tolerate the taint " + r.Detail
	}
	return r.String()
}

func (r Reason) poolText() string {
	text := map[Code]string{
		CodeRefused:         "node(s) refused by the scheduler's own filters",
		CodePreference:      "a preference is not met",
		CodeSelector:        "a selector does not parse",
		CodeInvalid:         "a resource request is negative or absurdly large",
		CodeSchedulingGroup: "pods in scheduling groups are not supported by an extender",
		CodeResourceClaims:  "resource claims cannot be judged for a node that does not exist yet",
		CodeNoPool:          "no NodePool exists",
		CodePoolLimit:       "limit reached",
		CodePoolBackoff:     "backing off after failed machines",
		CodePoolNotReady:    "provider not ready",
		CodePoolFrozen:      "the pool orders no machine",
		CodeTooLarge:        "no shape is large enough",
		CodeNotReached:      "not looked at yet: the plan had too much to do, and the next one begins with such pods",
		CodeTooManyWait:     "more pods wait for a node than are planned for at a time; this one's turn comes when others are placed",
		CodeBought:          "machines came up for such pods in vain",
		CodePreemptNever:    "the pod's preemptionPolicy is Never",
		CodeNotOurs:         "another scheduler makes room for this pod",
		CodeNoVictims:       "no node where pods of lower priority could make room",
		CodeProtected:       "pods of lower priority may not be evicted now",
		CodePreemptVain:     "others made room for this pod and it did not take it",
	}[r.Code]
	if text == "" {
		text = r.volumeText()
	}
	if r.Detail == "" {
		return text
	}
	return text + ": " + r.Detail
}

// volumeText names the claim or the volume behind it.
func (r Reason) volumeText() string {
	text := map[Code]string{
		CodeClaimMissing:     "PersistentVolumeClaim not found",
		CodeClaimUnmade:      "waiting for the ephemeral volume controller to create the PersistentVolumeClaim",
		CodeClaimLost:        "PersistentVolumeClaim bound to a PersistentVolume that is gone",
		CodeClaimDeleting:    "PersistentVolumeClaim is being deleted",
		CodeClaimForeign:     "PersistentVolumeClaim was not created for this pod",
		CodeClaimUnbound:     "pod has unbound immediate PersistentVolumeClaims",
		CodeVolumeMissing:    "PersistentVolumeClaim bound to a PersistentVolume that does not exist",
		CodeVolumeUnreadable: "kube-scheduler cannot judge this volume",
		CodeVolumeAffinity:   "node(s) didn't match PersistentVolume's node affinity",
		CodeVolumeZone:       "node(s) had no available volume zone",
		CodeVolumeInUse:      "PersistentVolumeClaim with ReadWriteOncePod access mode already in use by another pod",
		CodeDiskConflict:     "node(s) had no available disk",
		CodeTooManyVolumes:   "node(s) exceed max volume count",
		CodeNoVolume:         "node(s) didn't find available persistent volumes to bind",
		CodeNoStorage:        "node(s) did not have enough free storage",
	}[r.Code]
	if text == "" {
		return string(r.Code)
	}
	return text
}

// Verdict is Fit's answer for one pod and one node.
type Verdict struct {
	Fits   bool
	Reason Reason
	// Resolvable says whether room on this node could be made by pods leaving it.
	Resolvable bool
}

// Fitting is the Verdict that nothing stands in the way.
var Fitting = Verdict{Fits: true}

// Refusal is a Verdict that no pod leaving the node could change.
func Refusal(code Code, detail string) Verdict {
	return Verdict{Reason: Reason{Code: code, Detail: detail}}
}

func short(name corev1.ResourceName, resolvable bool) Verdict {
	return Verdict{Reason: Reason{Code: CodeInsufficient, Detail: string(name)}, Resolvable: resolvable}
}
