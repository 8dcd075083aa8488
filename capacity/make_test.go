package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// amountsOf reads kind, amount, kind, amount, …
func amountsOf(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func container(name string, pairs ...string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: amountsOf(pairs...)}}
}

func sidecar(name string, pairs ...string) corev1.Container {
	c := container(name, pairs...)
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

// makePod makes a pod of scheduler muster that asks for the given amounts.
func makePod(name string, pairs ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Generation: 1,
			CreationTimestamp: metav1.NewTime(start),
		},
		Spec: corev1.PodSpec{SchedulerName: "muster", Containers: []corev1.Container{container("main", pairs...)}},
	}
}

func bound(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}

func nominated(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Status.NominatedNodeName = node
	return p
}

// unscheduled sets the PodScheduled condition to False with a reason.
func unscheduled(p *corev1.Pod, reason string) *corev1.Pod {
	p = p.DeepCopy()
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason},
	}
	return p
}

func owned(p *corev1.Pod, kind, uid string) *corev1.Pod {
	p = p.DeepCopy()
	p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: uid, UID: types.UID(uid), Controller: new(true)}}
	return p
}

// makeNode makes a node with the given allocatable and room for 110 pods.
func makeNode(name string, pairs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = amountsOf(pairs...)
	if _, ok := n.Status.Allocatable[corev1.ResourcePods]; !ok {
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	}
	return n
}

func tainted(n *corev1.Node, key string, effect corev1.TaintEffect) *corev1.Node {
	n = n.DeepCopy()
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	return n
}

func makeDaemonSet(name string, pairs ...string) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name)}}
	ds.Spec.Template.Spec.Containers = []corev1.Container{container("main", pairs...)}
	return ds
}

// makeClaim makes a Ready claim for a node, with room kept for the given pods.
func makeClaim(name, node string, reserved ...string) *v1alpha1.NodeClaim {
	c := &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(start)},
		Spec: v1alpha1.NodeClaimSpec{
			Pool: "pool", Provider: "sim", Shape: "small", Resources: amountsOf("cpu", "4", "memory", "8Gi"),
		},
		Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: node, ReadyAt: micro(start)},
	}
	for _, uid := range reserved {
		c.Spec.Reserved = append(c.Spec.Reserved, v1alpha1.PodReference{Namespace: "default", Name: uid, UID: types.UID(uid)})
	}
	return c
}

func micro(t time.Time) *metav1.MicroTime { return new(metav1.NewMicroTime(t)) }

func micro1(t time.Time) *metav1.Time { return new(metav1.NewTime(t)) }

func inState(c *v1alpha1.NodeClaim, state v1alpha1.ClaimState) *v1alpha1.NodeClaim {
	c = c.DeepCopy()
	c.Status.State = state
	return c
}

func makeLive() *Live {
	return NewLive(Schedulers{Place: sets.New("muster"), Guard: sets.New("default-scheduler")})
}

// place asks for a node with the next call number.
func (s *scene) place(p *corev1.Pod, nodes ...string) placed {
	s.number++
	placement, err := s.Place(context.Background(), Call{Number: s.number, Pod: PodOf(p), Nodes: nodes, Now: s.now})
	if err != nil {
		panic(fmt.Sprintf("place %s: %v", p.Name, err))
	}
	answer := placed{Node: placement.Node}
	for i, why := range placement.Refused {
		if answer.Refused == nil {
			answer.Refused = map[string]Reason{}
		}
		answer.Refused[nodes[i]] = why
	}
	return answer
}

// placed is a Placement with the reasons by node.
type placed struct {
	Node    string
	Refused map[string]Reason
}

// scene is a Live with a clock and a count of calls.
type scene struct {
	*Live
	now    time.Time
	number uint64
}

func newScene() *scene { return &scene{Live: makeLive(), now: start} }

func (s *scene) nodes(nodes ...*corev1.Node) {
	for _, n := range nodes {
		s.SetNode(n, s.now)
	}
}

func (s *scene) pods(pods ...*corev1.Pod) {
	for _, p := range pods {
		s.SetPod(p, s.now)
	}
}

// node is the node as a View shows it; nil when there is none.
func (s *scene) node(name string) *Node {
	for _, n := range s.View().Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// shortfall is a pod's entry in the ledger; nil when there is none.
func (s *scene) shortfall(uid types.UID) *Shortfall {
	for _, f := range s.View().Shortfalls {
		if f.Pod.UID == uid {
			return f
		}
	}
	return nil
}

// sent is a plan for pods that fit on these nodes, in the order of their UIDs or in another.
func sent(rooms map[types.UID]string, turns ...types.UID) Plan {
	p := Plan{Outcomes: map[types.UID]Outcome{}, Turns: turns}
	if turns == nil {
		p.Turns = slices.Sorted(maps.Keys(rooms))
	}
	for uid, node := range rooms {
		p.Outcomes[uid] = Outcome{Fate: FitsNow, Node: node}
	}
	return p
}
