package lifecycle

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Reasons of conditions and events. They are part of what users script against; do not rename them.
const (
	ReasonWaiting    = "Waiting"    // the step before this one is not done
	ReasonOrdered    = "Ordered"    // the provider is asked for the machine
	ReasonLaunched   = "Launched"   // the provider took the order
	ReasonUnanswered = "Unanswered" // the provider's answers say nothing for sure
	ReasonNoCapacity = "NoCapacity"
	ReasonRefused    = "LaunchRefused"

	ReasonRegistered    = "Registered"
	ReasonTemplateError = "TemplateError" // registered, with labels or annotations left out

	ReasonNodeNotReady     = "NodeNotReady"
	ReasonStartupTaints    = "StartupTaints"
	ReasonResourcesMissing = "ResourcesMissing"
	ReasonInitialized      = "Initialized"
	ReasonNodeReady        = "NodeReady"
	ReasonNodeGone         = "NodeGone" // the Node object is missing, the machine not

	ReasonClosing  = "Closing"        // the Node is being tainted and cordoned
	ReasonSettling = "Settling"       // closed, late bindings may still show
	ReasonPods     = "WaitingForPods" // closed, pods are still there
	ReasonReopened = "Reopened"
	ReasonVolumes  = "WaitingForVolumes" // empty, volumes are still attached
	ReasonBlocked  = "DrainBlocked"      // pods did not leave: the node is open again

	ReasonRestarting = "NodeRestarting"    // the machine of a node that is not ready is switched off and on
	ReasonRestarted  = "NodeRestarted"     // it is ready again
	ReasonNotHelped  = "RestartInVain"     // it is not
	ReasonNoRestart  = "RestartImpossible" // the provider cannot switch it off

	ReasonUnhealthy = capacity.ReasonUnhealthy // the Node was not ready for as long as its pool waits
	ReasonTimeout   = capacity.ReasonTimeout
	ReasonFailed    = capacity.ReasonFailed
	ReasonVanished  = capacity.ReasonVanished
	ReasonStuck     = "MachineStays"    // it did not come up, and does not go
	ReasonLost      = "MachineLost"     // gone after its Node was ready
	ReasonNodeLost  = "NodeLost"        // the Node object did not come back
	ReasonLeftOver  = "MachineLeftOver" // a claim without a machine turned out to have one
	ReasonExpired   = "FailureExpired"  // a failed claim was kept for long enough
	ReasonDeleted   = "Deleted"
	ReasonRequested = "Requested" // a release whose own reason is not CamelCase
	ReasonGone      = "MachineGone"
	ReasonConfirmed = "MachineConfirmedGone" // a person said so
	ReasonReleased  = "Released"
	ReasonKept      = "NodeKept" // the claim goes, its node and its machine stay

	ReasonHeld    = "DefinitionTerminating" // deleted only because its definition is: nothing is done
	ReasonNotHeld = "DefinitionStands"
)

// maxText is the longest status.message and status.lastError the API allows, in characters.
const maxText = 1024

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// set sets a condition; its time of transition is now when its status changes.
func (s *step) set(condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.c.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: cut(message),
		ObservedGeneration: s.c.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
}

func (s *step) yes(condition, reason, message string) {
	s.set(condition, metav1.ConditionTrue, reason, message)
}

func (s *step) no(condition, reason, message string) {
	s.set(condition, metav1.ConditionFalse, reason, message)
}

// reasonOf returns the reason of a condition, empty when it is not set.
func (s *step) reasonOf(condition string) string {
	if c := meta.FindStatusCondition(s.c.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return ""
}

func (s *step) is(condition string) bool {
	return meta.IsStatusConditionTrue(s.c.Status.Conditions, condition)
}

// tell records an event on the claim and on the pods it was ordered for.
func (s *step) tell(reason, message string) {
	s.do(Event{Type: corev1.EventTypeNormal, Reason: reason, Message: message, Pods: s.c.Spec.Reserved})
}

func (s *step) warn(reason, message string) {
	s.do(Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message, Pods: s.c.Spec.Reserved})
}

// closingReason is why the claim is to go, fit for a condition.
func (s *step) closingReason() string {
	switch {
	case s.deleted():
		return ReasonDeleted
	case camelCase.MatchString(s.c.Spec.Release.Reason):
		return s.c.Spec.Release.Reason
	}
	return ReasonRequested
}

// closingText is closingReason with what is said beside it, for people.
func (s *step) closingText() string {
	why := s.closingReason()
	if r := s.c.Spec.Release; r != nil && r.Message != "" && why == r.Reason {
		why += " (" + r.Message + ")"
	}
	return why
}

// keepFinalizer puts our finalizer on; the API server takes none for an object that is being deleted.
func (s *step) keepFinalizer() {
	if !s.deleted() && !slices.Contains(s.c.Finalizers, v1alpha1.ClaimFinalizer) {
		s.c.Finalizers = append(s.c.Finalizers, v1alpha1.ClaimFinalizer)
	}
}

// cut makes one line of at most maxText characters.
func cut(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText-3]) + "..."
}
