package capacity

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// SetDaemonSet takes in a DaemonSet: the room for its pods is set aside on every node it matches.
func (l *Live) SetDaemonSet(ds *appsv1.DaemonSet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := NewDaemon(ds)
	if old := l.daemons[ds.UID]; old != nil && old.same(fresh) {
		return
	}
	l.daemons[ds.UID] = fresh
	l.setAside()
}

// ForgetDaemonSet drops a DaemonSet that was deleted.
func (l *Live) ForgetDaemonSet(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.daemons, uid)
	l.setAside()
}

func (l *Live) setAside() {
	for _, e := range l.nodes {
		l.setDaemons(e)
	}
	l.changed()
}

// setDaemons works out the room for DaemonSet pods to come.
func (l *Live) setDaemons(e *entry) {
	if e.Object == nil {
		return
	}
	n := l.started(e)
	var sum amount.Resources
	for uid, d := range l.daemons {
		if e.owners[uid] == 0 && d.Matches(n) {
			sum.Add(d.Ask.Requests)
		}
	}
	if !e.Daemons.Equal(sum) {
		e.Daemons = sum
		l.thaw(e)
		l.settleReservation("", e)
	}
}

// started is the node as DaemonSets will find it.
func (l *Live) started(e *entry) *Node {
	if claim := l.claims.byName[e.Claim]; claim != nil && InFlight(claim) {
		return initialized(&e.Node, claim)
	}
	return &e.Node
}

// initialized is a starting node as it will be once its start is over. Between the moment the kubelet registers it and
// the moment the claim's labels and taints are put on, it carries neither: both are counted as if they were there.
func initialized(n *Node, c *v1alpha1.NodeClaim) *Node {
	n = WithoutStartup(n, c.Spec.StartupTaints)
	labels := promisedLabels(c)
	maps.Copy(labels, n.Object.Labels)
	n.Object.Labels = labels
	for i := range c.Spec.Taints {
		if t := &c.Spec.Taints[i]; !containsTaint(n.Object.Spec.Taints, t) {
			n.Object.Spec.Taints = append(n.Object.Spec.Taints, *t)
		}
	}
	return n
}

// WithoutStartup is the node as it will be once the taints of its start are gone.
func WithoutStartup(n *Node, startup []corev1.Taint) *Node {
	c := *n
	object := *n.Object
	object.Spec.Taints = nil
	for i := range n.Object.Spec.Taints {
		if t := &n.Object.Spec.Taints[i]; !passing(t) && !containsTaint(startup, t) {
			object.Spec.Taints = append(object.Spec.Taints, *t)
		}
	}
	object.Spec.Unschedulable = false
	c.Object = &object
	return &c
}

// containsTaint compares key and effect, by which the API server tells taints apart.
func containsTaint(taints []corev1.Taint, t *corev1.Taint) bool {
	for i := range taints {
		if taints[i].MatchTaint(t) {
			return true
		}
	}
	return false
}
