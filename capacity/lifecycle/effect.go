package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// Effect is something to perform after the claim was committed. There is at most one provider call among the effects of
// a step; its result is the next step's Outcome. Whether a write to the API server took is seen in the next observation.
type Effect interface {
	fmt.Stringer
	effect()
}

// Create asks the provider for the machine.
type Create struct{ Request provider.Request }

// Look asks the provider for the machine of the claim (Get). Machine is what the claim remembers of it.
type Look struct{ Machine provider.Machine }

// Delete gives this machine back.
type Delete struct{ Machine provider.Machine }

// Stop takes this machine's power away; Create gives it back.
type Stop struct{ Machine provider.Machine }

// LookPods asks for another step with the pods of the Node read from the API server (Observed.PodsFresh).
type LookPods struct{ Node string }

// UpdateNode writes labels, annotations, taints and spec.unschedulable of a Node: Old is the Node observed, New the
// Node wanted. A conflict is no error, the next step decides on the newer Node.
type UpdateNode struct{ Old, New *corev1.Node }

// DeleteNode deletes the Node object with this UID, which was this machine's.
type DeleteNode struct {
	Name    string
	UID     types.UID
	Machine provider.Machine
}

// Evict asks the Eviction API to take these pods. Refused because of a disruption budget is no error.
type Evict struct{ Pods []PodOnNode }

// DeletePod deletes these pods, whatever their disruption budgets say.
type DeletePod struct{ Pods []PodOnNode }

// Withdraw takes spec.release off the claim with this UID, if that is still the version that was committed.
type Withdraw struct {
	Name string
	UID  types.UID
}

// DeleteClaim deletes the claim object with this UID.
type DeleteClaim struct {
	Name string
	UID  types.UID
}

// RemoveFinalizer takes v1alpha1.ClaimFinalizer off the claim with this UID.
type RemoveFinalizer struct {
	Name string
	UID  types.UID
}

// Event is recorded on the claim, and on each of Pods.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string
	Message string
	Pods    []v1alpha1.PodReference
}

func (Create) effect()          {}
func (Look) effect()            {}
func (Delete) effect()          {}
func (Stop) effect()            {}
func (LookPods) effect()        {}
func (UpdateNode) effect()      {}
func (DeleteNode) effect()      {}
func (Evict) effect()           {}
func (DeletePod) effect()       {}
func (Withdraw) effect()        {}
func (DeleteClaim) effect()     {}
func (RemoveFinalizer) effect() {}
func (Event) effect()           {}

func podNames(pods []PodOnNode) string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = "pod " + p.Namespace + "/" + p.Name
	}
	return strings.Join(names, ", ")
}

func (e Create) String() string {
	if e.Request.Joined {
		return "take away what " + e.Request.Claim + " joined with"
	}
	return fmt.Sprintf("create %s attempt %d", e.Request.Claim, e.Request.Attempt)
}
func (e Look) String() string            { return "look for the machine" }
func (e Delete) String() string          { return fmt.Sprintf("delete machine %s", e.Machine.ID) }
func (e Stop) String() string            { return fmt.Sprintf("stop machine %s", e.Machine.ID) }
func (e LookPods) String() string        { return "look at the pods of node " + e.Node }
func (e UpdateNode) String() string      { return "update node " + e.New.Name }
func (e DeleteNode) String() string      { return "delete node " + e.Name }
func (e Evict) String() string           { return "evict " + podNames(e.Pods) }
func (e DeletePod) String() string       { return "delete " + podNames(e.Pods) }
func (e Withdraw) String() string        { return "withdraw the release of " + e.Name }
func (e DeleteClaim) String() string     { return "delete claim " + e.Name }
func (e RemoveFinalizer) String() string { return "remove finalizer of " + e.Name }
func (e Event) String() string           { return fmt.Sprintf("event %s %s: %s", e.Type, e.Reason, e.Message) }
