package extender

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/capacity"
)

// vetoer answers for guard mode, where the scheduler judges fit and Muster only closes nodes.
type vetoer struct{ core Core }

// filter passes every node but the vetoed ones; unknown nodes pass.
func (v vetoer) filter(_ context.Context, c call, answer []byte) ([]byte, error) {
	pod, r, err := readVetoed(c.body)
	if err != nil {
		return nil, err
	}
	c.seen.sees(pod.UID, len(r.names))
	vetoes := make([]capacity.Reason, len(r.names))
	passed := make([]int, 0, len(r.names))
	for i := range r.names {
		if vetoes[i] = v.veto(pod, r, i); vetoes[i] == (capacity.Reason{}) {
			passed = append(passed, i)
		}
	}
	c.seen.answers("", len(passed), vetoes)
	return appendFiltered(answer, r, passed, vetoes), nil
}

// readVetoed reads a call whose nodes are judged one by one, each of which belongs there once.
func readVetoed(body []byte) (*corev1.Pod, request, error) {
	pod, r, err := readRequest(body, readPod)
	if err == nil {
		err = unique(r)
	}
	return pod, r, err
}

func (v vetoer) veto(pod *corev1.Pod, r request, i int) capacity.Reason {
	if r.whole {
		return v.core.VetoObject(pod, &r.nodes[i].object)
	}
	return v.core.Veto(pod, r.names[i])
}

// prioritize scores from 0 to extenderv1.MaxExtenderPriority.
func (v vetoer) prioritize(_ context.Context, c call, answer []byte) ([]byte, error) {
	pod, r, err := readVetoed(c.body)
	if err != nil {
		return nil, err
	}
	c.seen.sees(pod.UID, len(r.names))
	c.seen.answers("", len(r.names), nil)
	return appendScores(answer, r.names, v.core.Preferences(pod, r.names, extenderv1.MaxExtenderPriority)), nil
}
