package preemption_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/preemption"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// cluster is a view in the making.
type cluster struct {
	*capacity.Live
	t testing.TB
}

func newCluster(t testing.TB) *cluster {
	schedulers := capacity.Schedulers{Place: sets.New("muster"), Guard: sets.New("default-scheduler")}
	return &cluster{capacity.NewLive(schedulers), t}
}

type podEdit func(*corev1.Pod)

// pod is a pod of scheduler muster that asks for so many milli CPUs.
func pod(name string, priority int32, milli int64, edits ...podEdit) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start)},
		Spec: corev1.PodSpec{
			SchedulerName: "muster", Priority: &priority,
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)},
			}}},
		},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func on(node string) podEdit { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func startedAt(minute int) podEdit {
	return func(p *corev1.Pod) {
		p.Status.StartTime = new(metav1.NewTime(start.Add(time.Duration(minute) * time.Minute)))
	}
}

func leavingAt(t time.Time) podEdit {
	return func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(t)) }
}

func labelled(value string) podEdit {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"app": value} }
}

func ownedBy(kind string) podEdit {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "o", UID: "o", Controller: new(true)}}
	}
}

// nodes makes nodes of so many milli CPUs.
func (c *cluster) nodes(milli int64, names ...string) {
	for _, name := range names {
		c.SetNode(node(name, milli), start)
	}
}

func node(name string, milli int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI), corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

func (c *cluster) pods(pods ...*corev1.Pod) {
	for _, p := range pods {
		c.SetPod(p, start)
	}
}

// budget is a PodDisruptionBudget for the pods labelled so.
func (c *cluster) budget(value string, allowed int32) {
	c.SetDisruptionBudget(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: value},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	})
}

// asks counts every pending pod of the view as one for which no pool may grow.
func asks(v *capacity.View) []preemption.Ask {
	var all []preemption.Ask
	for _, s := range v.Shortfalls {
		all = append(all, preemption.Ask{Shortfall: s})
	}
	return all
}

// wants adds pods that lack room.
func (c *cluster) wants(pods ...*corev1.Pod) {
	c.pods(pods...)
	for _, p := range pods {
		require.True(c.t, c.Want(p.UID, start))
	}
}

// decide decides for every pod that lacks room.
func (c *cluster) decide() preemption.Decision {
	v := c.View()
	return preemption.Decide(v, asks(v), 100, start)
}

// moves writes a decision as text, one line a move.
func moves(d preemption.Decision) []string {
	var lines []string
	for _, m := range d.Moves {
		line := fmt.Sprintf("%s to %s:", m.Pod.Name, m.Node)
		for i, v := range m.Victims {
			line += " " + v.Name
			if i < m.Protected {
				line += "!"
			}
		}
		lines = append(lines, line)
	}
	return lines
}
