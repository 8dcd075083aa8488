package capacity

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Veto says why a pod must not go to a node, whoever judged its fit: the node is being released or still starting, or the
// room is kept for others. The zero Reason lets it pass, unknown nodes too. DaemonSet pods belong on starting nodes, since
// nodes start by them.
func (l *Live) Veto(pod *corev1.Pod, node string) Reason {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[node]
	if e == nil || e.Object == nil {
		return Reason{}
	}
	if e.Stage == Open && len(e.kept) > 0 && !daemonPod(pod) {
		return l.reservedFrom(pod, e)
	}
	return veto(pod, e.Stage)
}

// reservedFrom says whether a pod would take room that is kept for others that are no less important. A pod that has no
// room anyway is left to its scheduler.
func (l *Live) reservedFrom(pod *corev1.Pod, e *entry) Reason {
	if e.keepsFor(pod.UID) {
		return Reason{}
	}
	ask := l.ask(pod, l.pods[pod.UID])
	free := e.room(ask)
	for _, other := range e.kept {
		if other.Priority < corev1helpers.PodPriority(pod) {
			free.Add(other.Ask.Requests)
		}
	}
	if Room(ask, e.Allocatable, free, l.classes).Fits || !Room(ask, e.Allocatable, free.Plus(e.Reserved), l.classes).Fits {
		return Reason{}
	}
	return Reason{Code: CodeReserved}
}

// VetoObject is Veto for a node that came with the request: what its taints say counts as well.
func (l *Live) VetoObject(pod *corev1.Pod, node *corev1.Node) Reason {
	switch {
	case hasTaint(node.Spec.Taints, v1alpha1.ReleasingTaint):
		return veto(pod, Releasing)
	case hasTaint(node.Spec.Taints, v1alpha1.StartingTaint):
		return veto(pod, Starting)
	}
	return l.Veto(pod, node.Name)
}

func veto(pod *corev1.Pod, stage Stage) Reason {
	if stage == Open || daemonPod(pod) {
		return Reason{}
	}
	if stage == Releasing {
		return Reason{Code: CodeReleasing}
	}
	return Reason{Code: CodeStarting}
}

func daemonPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// Preferences ranks nodes for a pod that already fits there, each from 0 to the given maximum: half for how full the node is, half
// for how many pods it has beside the one that has most, so that the others run empty by themselves; and those that the reaper is
// about to empty at half of what they would be.
func (l *Live) Preferences(pod *corev1.Pod, nodes []string, maximum int64) []int64 {
	ask := l.asks.Ask(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	most := 1
	for _, name := range nodes {
		if e := l.nodes[name]; e != nil {
			most = max(most, e.tenants())
		}
	}
	scores := make([]int64, len(nodes))
	for i, name := range nodes {
		if e := l.nodes[name]; e != nil && e.Object != nil && e.Stage == Open {
			scores[i] = (min(fullness(ask, &e.Node), 10_000) + share(int64(e.tenants()), int64(most))) * maximum / 20_000
			if e.waning {
				scores[i] /= 2
			}
		}
	}
	return scores
}
