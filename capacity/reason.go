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
	CodeUnknownNode     Code = "UnknownNode"     // not in Muster's view (yet)
	CodeRefused         Code = "RefusedInTree"   // kube-scheduler's own filters refused it
	CodeInvalid         Code = "InvalidRequest"  // a request is negative or too large to be counted
	CodeSchedulingGroup Code = "SchedulingGroup" // filter calls for groups are reverted by the scheduler
	CodeResourceClaims  Code = "ResourceClaims"  // dynamic resources cannot be judged for a machine that is not there
	CodeNoPool          Code = "NoPool"          // there is no pool at all
	CodePoolLimit       Code = "PoolLimit"       // a pool would do, but may not grow
	CodePoolBackoff     Code = "PoolBackoff"     // a pool would do, but its last machines failed
	CodePoolNotReady    Code = "PoolNotReady"    // a pool would do, but its provider is missing or not usable
	CodeTooLarge        Code = "TooLarge"        // no shape has so much room
	CodeBought          Code = "BoughtInVain"    // machines bought for this pod came up and it did not take them
	CodePreemptNever    Code = "PreemptNever"    // the pod's preemptionPolicy is Never
	CodeNotOurs         Code = "NotOurs"         // another scheduler makes room for the pod
	CodeNoVictims       Code = "NoVictims"       // no node where pods of lower priority could make room
	CodeProtected       Code = "Protected"       // those who would make room are kept by the Eviction API
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
	case CodeUnknownNode:
		return "node(s) not yet seen by Muster"
	}
	return r.poolText()
}

func (r Reason) poolText() string {
	text := map[Code]string{
		CodeRefused:         "node(s) refused by the scheduler's own filters",
		CodeInvalid:         "a resource request is negative or absurdly large",
		CodeSchedulingGroup: "pods in scheduling groups are not supported by an extender",
		CodeResourceClaims:  "resource claims cannot be judged for a node that does not exist yet",
		CodeNoPool:          "no NodePool exists",
		CodePoolLimit:       "limit reached",
		CodePoolBackoff:     "backing off after failed machines",
		CodePoolNotReady:    "provider not ready",
		CodeTooLarge:        "no shape is large enough",
		CodeBought:          "machines came up for this pod and it did not take them",
		CodePreemptNever:    "the pod's preemptionPolicy is Never",
		CodeNotOurs:         "another scheduler makes room for this pod",
		CodeNoVictims:       "no node where pods of lower priority could make room",
		CodeProtected:       "pods of lower priority may not be evicted now",
	}[r.Code]
	if text == "" {
		text = string(r.Code)
	}
	if r.Detail == "" {
		return text
	}
	return text + ": " + r.Detail
}

// Verdict is Fit's answer for one pod and one node.
type Verdict struct {
	Fits   bool
	Reason Reason
	// Resolvable says whether room on this node could be made by pods leaving it.
	Resolvable bool
}

var fits = Verdict{Fits: true}

func refusal(code Code, detail string) Verdict {
	return Verdict{Reason: Reason{Code: code, Detail: detail}}
}

func short(name corev1.ResourceName, resolvable bool) Verdict {
	return Verdict{Reason: Reason{Code: CodeInsufficient, Detail: string(name)}, Resolvable: resolvable}
}
