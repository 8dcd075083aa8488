package gate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Identity is what tells one machine from every other one.
type Identity = v1alpha1.MachineIdentity

// Reading is what was read, or why it could not be. The zero Reading was not read: that proves nothing.
type Reading[T any] struct {
	known  bool
	value  T
	failed string
}

// Read is a reading that succeeded.
func Read[T any](value T) Reading[T] { return Reading[T]{known: true, value: value} }

// Unread is a reading that failed.
func Unread[T any](err error) Reading[T] { return Reading[T]{failed: err.Error()} }

// Evidence is what was read for one act, every part of it past every cache and after the intent was written.
type Evidence struct {
	Act     Act
	Subject Subject
	// Began is when the first of the readings was begun.
	Began time.Time
	// Cluster is ours: the UID of the namespace kube-system.
	Cluster types.UID
	// Restart says that the machine is switched off only to be switched on again, since its Node is silent: the pods that are bound there
	// stay, and run again after it.
	Restart bool
	// Pods are the UIDs of the pods that Evict, DeletePod and Preempt are about.
	Pods []types.UID

	// Frozen is why releases are frozen for the machine's pool; empty when they are not.
	Frozen Reading[string]
	// Intent is what the API server has that asks for the act.
	Intent Reading[Intent]
	// Machine is what the provider, or the host's interface, says of the machine.
	Machine Reading[Machine]
	// Twins are other claims, hosts and machines that cannot be told apart from this one, each with the reason.
	Twins Reading[[]string]
	// Nodes are all Nodes that could be this machine, from a complete list.
	Nodes Reading[[]Node]
	// On are the pods that keep the machine: bound to one of the Nodes, or to the name of one that is gone.
	On Reading[[]Pod]
}

// Intent is the object that asks for an act, as the API server has it.
type Intent struct {
	// Missing says that the API server does not have the object.
	Missing bool
	// Asks says what of the object asks for the act, and Not why it does not.
	Asks, Not string
}

// Machine is a reading of a machine beside what was recorded when it was first proven ours.
type Machine struct {
	// Absent says that the provider proved that the claim has no machine, or that the person ByWordOf gave a word for it that Accept took.
	Absent   bool
	ByWordOf string
	// NeverStarted says that the machine was never switched on for the claim, and that giving it back leaves its power alone.
	NeverStarted bool
	// Cluster, ClaimUID and Attempt are the machine's mark.
	Cluster  types.UID
	ClaimUID types.UID
	Attempt  int32

	Recorded, Now Identity
}

// Node is a Node that could be the machine.
type Node struct {
	Name string
	UID  types.UID
	// Why it could be the machine, as identity.CouldBe says.
	Why string
	// Others are the other claims that it could be the machine of.
	Others []string
	// Ready is its condition, Closed says that it carries our taint and a cordon.
	Ready, Closed bool
}

// Pod is a pod that keeps a machine.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	Node            string
	// Protected is why the pod is not to be moved or disturbed; empty for one that is only there.
	Protected string
}
