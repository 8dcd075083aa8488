package control_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// treadmill is a controller that deletes its pods and makes them again under new UIDs, in a cluster whose scheduler
// refuses every node, and machines that come up within a minute and are given back ten minutes later.
type treadmill struct {
	*desk
	t      *testing.T
	now    time.Time
	made   int
	live   []types.UID
	ever   int // machines
	most   int // machines at a time that were ordered for the pods
	claims map[string]time.Time
}

func (m *treadmill) replace(pods int) {
	for _, uid := range m.live {
		m.desk.live.ForgetPod(uid)
	}
	m.live = nil
	for range pods {
		m.made++
		p := pod(fmt.Sprint("again-", m.made), "3")
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		m.desk.live.SetPod(p, m.now)
		m.live = append(m.live, p.UID)
	}
}

// machines takes claims through their life.
func (m *treadmill) machines() {
	for name, c := range m.kube.claims {
		if m.claims[name].IsZero() {
			m.ever++
			m.claims[name] = m.now
		}
		switch age := m.now.Sub(m.claims[name]); {
		case age >= 10*time.Minute:
			m.desk.live.ForgetClaim(name, c.UID)
			m.desk.live.ForgetNode(name)
			delete(m.kube.claims, name)
			delete(m.claims, name)
		case age >= time.Minute && c.Status.ReadyAt == nil:
			c = c.DeepCopy()
			c.Status.State, c.Status.NodeName = v1alpha1.ClaimReady, name
			c.Status.ReadyAt = new(metav1.NewMicroTime(m.now))
			m.desk.live.SetClaim(m.kube.store(c))
			m.desk.live.SetNode(nodeOf(c), m.now)
		}
	}
	m.most = max(m.most, len(m.kube.claims))
}

func nodeOf(c *v1alpha1.NodeClaim) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: map[string]string{corev1.LabelHostname: c.Name}},
		Status:     corev1.NodeStatus{Allocatable: c.Spec.Resources},
	}
}

func (m *treadmill) run(d time.Duration, pods int) {
	for end := m.now.Add(d); m.now.Before(end); m.now = m.now.Add(500 * time.Millisecond) {
		if m.now.Sub(start)%(5*time.Second) == 0 {
			m.replace(pods)
		}
		m.machines()
		m.desk.live.Expire(m.now)
		m.planner.Tick(context.Background(), m.now)
		if p := m.kube.pools["p"]; p != nil {
			m.desk.live.SetPool(p)
		}
		m.teller.Tick(context.Background(), m.now)
	}
}

func newTreadmill(t *testing.T) *treadmill {
	m := &treadmill{desk: newDesk(), t: t, now: start, claims: map[string]time.Time{}}
	m.kube.clock = func() time.Time { return m.now }
	return m
}

func TestPodsMadeAgainEveryFiveSecondsBuyTwoMachinesInAnHour(t *testing.T) {
	m := newTreadmill(t)
	m.run(time.Hour, 1)
	require.Equal(t, 720, m.made)
	require.Equal(t, 2, m.ever, "after two in vain the circuit is open")
	require.Equal(t, 1, m.most)
	open := m.kube.pools["p"].Status
	require.Len(t, open.Circuits, 1)
	require.True(t, open.Circuits[0].Open())
	braked := condition(open.Conditions, v1alpha1.ConditionBraked)
	require.Equal(t, metav1.ConditionTrue, braked.Status)
	require.Contains(t, braked.Message, "pods like default/again-")
	require.Equal(t, 1, count(m.kube.events, "NodePool p "+string(capacity.CodeBought)))
	told := m.kube.conditions[len(m.kube.conditions)-1]
	require.Contains(t, told, "False "+string(capacity.CodeBought))
}

func TestAProbeAnHourIsBoughtAndNoMore(t *testing.T) {
	m := newTreadmill(t)
	m.run(4*time.Hour+30*time.Minute, 1)
	require.InDelta(t, 2+4, m.ever, 1)
}

// A leader after a restart has nothing but the objects.
func TestARestartDoesNotCloseACircuit(t *testing.T) {
	m := newTreadmill(t)
	m.run(30*time.Minute, 1)
	require.Equal(t, 2, m.ever)
	old := m.desk
	m.desk = newDesk()
	m.desk.kube, m.desk.teller.Kube, m.planner.Kube = old.kube, old.kube, old.kube
	m.desk.live.SetPool(old.kube.pools["p"])
	for _, c := range old.kube.claims {
		m.desk.live.SetClaim(c)
		m.desk.live.SetNode(nodeOf(c), m.now)
	}
	m.live = nil
	m.run(25*time.Minute, 1)
	require.Equal(t, 2, m.ever)
}

// Demand follows the pods that are there, not those that were.
func TestDemandNeverExceedsTheLivePods(t *testing.T) {
	m := newTreadmill(t)
	m.planner.Batch = policy.Batch{Idle: 100 * time.Millisecond, Max: time.Second}
	m.run(time.Hour, 3)
	require.LessOrEqual(t, m.most, 3)
	require.LessOrEqual(t, m.ever, 3+1, "three at first, for none was known to be in vain")
	require.Equal(t, 3, m.desk.live.Demand().Pods)
}

func condition(list []metav1.Condition, kind string) metav1.Condition {
	i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return metav1.Condition{}
	}
	return list[i]
}

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// A machine that cannot be had: the pool says so once, and until when.
func TestAPoolThatBacksOffSaysSo(t *testing.T) {
	d := newDesk()
	d.call(t, "a", "3", start)
	d.tick(start.Add(500 * time.Millisecond))
	c := d.kube.claims["p-000"].DeepCopy()
	c.Status.State, c.Status.Message = v1alpha1.ClaimFailed, "the provider refuses"
	c.Status.NextAttempt = new(metav1.NewMicroTime(start.Add(10 * time.Minute)))
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionLaunched, Status: metav1.ConditionFalse, Reason: "LaunchRefused"}}
	d.live.SetClaim(d.kube.store(c))
	for now := start.Add(time.Second); now.Before(start.Add(5 * time.Minute)); now = now.Add(time.Second) {
		d.tick(now)
		d.live.SetPool(d.kube.pools["p"])
	}
	ready := condition(d.kube.pools["p"].Status.Conditions, v1alpha1.ConditionReady)
	require.Equal(t, "BackingOff", ready.Reason)
	require.Equal(t, "LaunchRefused (in a row: 1), next try at 08:10:00 UTC: the provider refuses", ready.Message)
	require.Equal(t, 1, count(d.kube.events, "NodePool p BackingOff"))
	d.tick(start.Add(10 * time.Minute))
	require.Equal(t, "CanGrow", condition(d.kube.pools["p"].Status.Conditions, v1alpha1.ConditionReady).Reason)
}
