package replay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/sim"
)

// machines are the clouds of a world, and what runs on their machines: kubelets that register, and the operator that
// takes startup taints off.
type machines struct {
	agenda *agenda
	api    *api
	delays Delays
	clouds []*sim.Cloud // by provider name
	next   *alarm
	joins  func(sim.Machine)
	gone   func(sim.Machine)
}

func newMachines(a *agenda, api *api, d Delays, clouds []*sim.Cloud) *machines {
	m := &machines{agenda: a, api: api, delays: d, clouds: clouds, joins: func(sim.Machine) {}, gone: func(sim.Machine) {}}
	m.next = a.alarm(m.advance)
	api.watch(0, m.see)
	return m
}

// poll sets the alarm to when a machine does something by itself.
func (m *machines) poll() {
	for _, c := range m.clouds {
		select {
		case <-c.Changed():
			if at, ok := c.NextEvent(); ok {
				m.next.notAfter(at)
			}
		default:
		}
	}
}

func (m *machines) advance() {
	for _, c := range m.clouds {
		for _, e := range c.Advance(m.agenda.now) {
			switch e.Kind {
			case sim.Joined:
				m.join(e.Machine)
			case sim.Gone:
				m.gone(e.Machine)
				m.vanish(e.Machine)
			}
		}
		if at, ok := c.NextEvent(); ok {
			m.next.notAfter(at)
		}
	}
}

// rejoin is how long a kubelet waits after its Node could not be created.
const rejoin = time.Second

// join registers the Node of a machine, not ready and closed by the taint that the API server's admission puts on.
func (m *machines) join(machine sim.Machine) {
	m.joins(machine)
	n := sim.NodeOf(machine)
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	n.Status.Conditions = []corev1.NodeCondition{nodeCondition(corev1.ConditionFalse, "KubeletNotReady", m.api.now())}
	if !m.api.createNode(n) {
		m.agenda.after(rejoin, func() {
			if m.alive(machine) {
				m.join(machine)
			}
		})
		return
	}
	uid := n.UID
	m.agenda.after(m.delays.NodeReady, func() { m.ready(n.Name, uid) })
}

func (m *machines) alive(machine sim.Machine) bool {
	for _, c := range m.clouds {
		for _, known := range c.List(m.agenda.now) {
			if known.ClaimUID == machine.ClaimUID && known.Attempt == machine.Attempt {
				return true
			}
		}
	}
	return false
}

func nodeCondition(status corev1.ConditionStatus, reason string, now metav1.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now,
	}
}

func (m *machines) ready(name string, uid types.UID) {
	if n := m.api.nodes[name]; n == nil || n.UID != uid {
		return
	}
	m.api.changeNode(name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{nodeCondition(corev1.ConditionTrue, "KubeletReady", m.api.now())}
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	})
}

// silent is how long after a machine's end its Node is no longer taken for ready (node-monitor-grace-period).
const silent = 50 * time.Second

// vanish ends a machine. Its Node stays until somebody deletes it, and is not ready after a while.
func (m *machines) vanish(machine sim.Machine) {
	n := m.api.nodes[machine.NodeName]
	if n == nil || n.Spec.ProviderID != machine.ProviderID {
		return
	}
	uid := n.UID
	m.agenda.after(silent, func() {
		if n := m.api.nodes[machine.NodeName]; n != nil && n.UID == uid {
			m.api.changeNode(n.Name, func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{nodeCondition(corev1.ConditionUnknown, "NodeStatusUnknown", m.api.now())}
			})
		}
	})
}

// see has startup taints taken off once the node is ready and carries them: what an operator would do when its drivers
// are loaded.
func (m *machines) see(c change) {
	n, ok := c.fresh.(*corev1.Node)
	if !ok || !nodeReady(n) {
		return
	}
	pool := m.api.pools[n.Labels[v1alpha1.PoolLabel]]
	if pool == nil || !slices.ContainsFunc(n.Spec.Taints, startupTaint(pool)) {
		return
	}
	uid := n.UID
	m.agenda.after(m.delays.Drivers, func() {
		if now := m.api.nodes[n.Name]; now != nil && now.UID == uid && slices.ContainsFunc(now.Spec.Taints, startupTaint(pool)) {
			m.api.changeNode(n.Name, func(n *corev1.Node) {
				n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, startupTaint(pool))
			})
		}
	})
}

func startupTaint(pool *v1alpha1.NodePool) func(corev1.Taint) bool {
	return func(t corev1.Taint) bool {
		return slices.ContainsFunc(pool.Spec.Template.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
	}
}
