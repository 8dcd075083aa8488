package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func joining(s *step) {
	s.refresh()
	switch {
	case s.o.Node != nil:
		s.register()
	case s.closing():
		s.release(s.closingReason(), "the claim is to go before its machine has a node")
	case s.endedEarly(), s.overdue():
	default:
		s.say(fmt.Sprintf("machine %s runs%s, waiting for its node", s.c.Status.MachineID, s.where()))
		s.look(lookAgain)
	}
}

// register takes the Node as this claim's; its marks are put on in Starting.
func (s *step) register() {
	name := s.o.Node.Name
	s.enter(v1alpha1.ClaimStarting, "node "+name+" registered")
	s.c.Status.NodeName, s.c.Status.NodeUID = name, s.o.Node.UID
	s.c.Status.RegisteredAt = micro(s.now)
	s.c.Status.LastError = ""
	s.tell(ReasonRegistered, "node "+name+" registered")
}

func starting(s *step) {
	s.refresh()
	node := s.o.Node
	again := s.c.Status.ReadyAt != nil // registered again after it was ready: its pods may still run
	switch {
	case node == nil && s.closing():
		s.release(s.closingReason(), "the claim is to go and has no node")
	case s.closing():
		s.drain()
	case node == nil && again:
		s.enter(v1alpha1.ClaimReady, "node "+s.c.Status.NodeName+" is gone again")
	case node == nil:
		s.c.Status.NodeName, s.c.Status.NodeUID, s.c.Status.RegisteredAt = "", "", nil
		s.no(v1alpha1.ConditionRegistered, ReasonNodeGone, "the node is gone")
		s.enter(v1alpha1.ClaimJoining, "the node is gone, waiting for it to register again")
	case again && s.lost():
	case !again && !NodeReady(node) && s.endedEarly():
	case s.initialize():
	case !again && s.overdue():
	case s.unseed():
	default:
		s.doubt()
	}
}

// initialize marks the Node and takes the claim to Ready when nothing is missing. It returns false while something is.
func (s *step) initialize() bool {
	node := s.o.Node
	s.c.Status.NodeName, s.c.Status.NodeUID = node.Name, node.UID
	if !registered(node, s.c) {
		want, bad := registeredNode(node, s.c)
		s.markRegistered(bad)
		s.update(want)
		s.unready(ReasonWaiting, fmt.Sprintf("node %s is being labelled", node.Name))
		return false
	}
	if reason, missing := notInitialized(node, s.c); reason != "" {
		s.update(startingNode(node))
		s.unready(reason, missing)
		return false
	}
	s.enter(v1alpha1.ClaimReady, "node "+node.Name+" is ready")
	s.c.Status.ReadyAt = micro(s.now)
	s.yes(v1alpha1.ConditionInitialized, ReasonInitialized, "")
	s.yes(v1alpha1.ConditionReady, ReasonNodeReady, "")
	s.tell(ReasonNodeReady, "node "+node.Name+" is ready")
	return true
}

func (s *step) unready(reason, message string) {
	s.no(v1alpha1.ConditionInitialized, reason, message)
	s.no(v1alpha1.ConditionReady, reason, message)
	s.say(message)
}

func (s *step) markRegistered(bad []string) {
	if len(bad) == 0 {
		s.yes(v1alpha1.ConditionRegistered, ReasonRegistered, "node "+s.o.Node.Name)
		return
	}
	message := "left out: " + strings.Join(bad, "; ")
	if s.reasonOf(v1alpha1.ConditionRegistered) != ReasonTemplateError {
		s.do(Event{Type: corev1.EventTypeWarning, Reason: ReasonTemplateError, Message: message})
	}
	s.yes(v1alpha1.ConditionRegistered, ReasonTemplateError, message)
}

// notInitialized says what a registered Node still lacks; an empty reason means nothing.
func notInitialized(node *corev1.Node, c *v1alpha1.NodeClaim) (reason, missing string) {
	if !NodeReady(node) {
		return ReasonNodeNotReady, fmt.Sprintf("node %s is not ready", node.Name)
	}
	if key := transientTaint(node); key != "" {
		return ReasonNodeNotReady, fmt.Sprintf("node %s still has taint %s", node.Name, key)
	}
	for _, t := range c.Spec.StartupTaints {
		if slices.ContainsFunc(node.Spec.Taints, func(on corev1.Taint) bool { return on.MatchTaint(&t) }) {
			return ReasonStartupTaints, fmt.Sprintf("node %s waits for startup taint %s:%s to be taken off", node.Name, t.Key, t.Effect)
		}
	}
	if names := missingResources(node, c); len(names) > 0 {
		return ReasonResourcesMissing, fmt.Sprintf("node %s does not offer %s yet", node.Name, strings.Join(names, ", "))
	}
	return "", ""
}

// transientTaints are what Kubernetes keeps on a node until it can take pods. They come off a moment after the Ready
// condition, by another hand (kube-controller-manager's node lifecycle, the cloud's controller, the network's); a claim
// that were Ready before that would count as a node that refuses its pods.
// https://kubernetes.io/docs/reference/labels-annotations-taints/
var transientTaints = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable,
	"node.cloudprovider.kubernetes.io/uninitialized"}

func transientTaint(node *corev1.Node) string {
	for _, t := range node.Spec.Taints {
		if slices.Contains(transientTaints, t.Key) {
			return t.Key
		}
	}
	return ""
}

// missingResources names what the claim's shape promises and the Node does not offer, sorted.
func missingResources(node *corev1.Node, c *v1alpha1.NodeClaim) []string {
	var names []string
	for name, want := range c.Spec.Resources {
		left := want.DeepCopy()
		if o, ok := c.Spec.Overhead[name]; ok {
			left.Sub(o)
		}
		has := node.Status.Allocatable[name]
		if left.Sign() > 0 && has.Sign() <= 0 {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}
