package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/preemption"
)

// ReasonPreempting is the reason of a pod's muster.sh/Capacity condition, False, while others leave to make room for it;
// ReasonPreempted is the event on those.
const (
	ReasonPreempting = "Preempting"
	ReasonPreempted  = "Preempted"
)

// errChanged: the victim is not what it was when it was chosen.
var errChanged = errors.New("it moved, or its priority rose")

// perform makes the room that was decided on. The room is promised before the first eviction, so that no filter call in
// between gives it away.
func (p *Preemptor) perform(ctx context.Context, m preemption.Move, now time.Time) {
	if m.Short != nil {
		p.blocked(m, m.Victims[0], fmt.Errorf("budget %s allows %d, which is not enough", m.Short.Name, m.Short.Allowed), now)
		return
	}
	if !p.stillWaits(ctx, m, now) || !p.Live.Promise(m.Pod.UID, m.Node, now) {
		return
	}
	for _, victim := range m.Victims {
		if err := p.evict(ctx, m, victim, now); err != nil {
			p.blocked(m, victim, err, now)
			return
		}
	}
	p.begin(m, now)
	p.observe(PreemptionStarted, len(m.Victims))
	p.Log.Info("pods make room", "pod", m.Pod.Key(), "node", m.Node, "victims", keys(m.Victims), "leaving", len(m.Leaving))
	p.Teller.Say(m.Pod, corev1.ConditionFalse, ReasonPreempting, waitsFor(m))
}

// stillWaits looks at the pod past every cache before anybody dies for it.
func (p *Preemptor) stillWaits(ctx context.Context, m preemption.Move, now time.Time) bool {
	if len(m.Victims) == 0 {
		return true
	}
	got, err := p.look(ctx, m.Pod, now)
	if err != nil {
		p.Log.Warn("cannot look at the pod that needs room", "pod", m.Pod.Key(), "error", err)
		return false
	}
	return got != nil && got.Pending() && !got.NeverPreempts && got.Priority >= m.Pod.Priority
}

// look reads a pod past every cache and has the view take in what it finds; nil when this pod is gone.
func (p *Preemptor) look(ctx context.Context, pod *capacity.Pod, now time.Time) (*capacity.Pod, error) {
	got, err := p.Kube.Pod(ctx, pod.Ref())
	switch {
	case apierrors.IsNotFound(err), err == nil && got.UID != pod.UID:
		p.Live.ForgetPod(pod.UID)
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.Live.Reread(got, now)
	return p.Live.Compile(got), nil
}

// evict looks at a victim again and asks the Eviction API to take it. Whoever leaves already is not asked.
func (p *Preemptor) evict(ctx context.Context, m preemption.Move, victim *capacity.Pod, now time.Time) error {
	got, err := p.look(ctx, victim, now)
	switch {
	case err != nil:
		return err
	case got == nil, got.Finished, got.Terminating:
		return nil
	case got.Node != m.Node, got.Priority >= m.Pod.Priority:
		return errChanged
	}
	proof, err := p.Gate.Preempt(ctx, m, victim)
	if err != nil {
		return err
	}
	if err := p.Kube.Evict(ctx, victim.Ref(), proof); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	p.Kube.Event(Subject{Kind: "Pod", PodReference: victim.Ref()}, false, ReasonPreempted,
		fmt.Sprintf("evicted from node %s to make room for pod %s of priority %d", m.Node, m.Pod.Key(), m.Pod.Priority))
	if _, err := p.look(ctx, victim, now); err != nil {
		p.Log.Warn("cannot look at an evicted pod", "pod", victim.Key(), "error", err)
	}
	return nil
}

// blocked takes the promise back. The protected victims come first, so that as a rule nobody was evicted; who was, leaves
// room that the next decision counts on. The node is left alone for a while.
func (p *Preemptor) blocked(m preemption.Move, victim *capacity.Pod, err error, now time.Time) {
	p.Live.Unpromise(m.Pod.UID, now)
	why := capacity.Reason{Code: capacity.CodeProtected, Detail: fmt.Sprintf("%s on node %s: %v", victim.Key(), m.Node, err)}
	p.brakes.block(m.Pod, m.Node, why, now)
	p.observe(PreemptionBlocked, 0)
	p.Log.Info("a pod that was to make room stays", "pod", m.Pod.Key(), "node", m.Node, "victim", victim.Key(), "error", err)
	p.Kube.Event(Subject{Kind: "Pod", PodReference: m.Pod.Ref()}, true, string(why.Code), why.String())
}

func waitsFor(m preemption.Move) string {
	switch len(m.Victims) {
	case 0:
		return fmt.Sprintf("waits for room on node %s: pods leave it", m.Node)
	case 1:
		return fmt.Sprintf("waits for room on node %s: pod %s of lower priority leaves", m.Node, m.Victims[0].Key())
	}
	return fmt.Sprintf("waits for room on node %s: pods of lower priority leave: %s", m.Node, strings.Join(keys(m.Victims), ", "))
}

func keys(pods []*capacity.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, p := range pods {
		names = append(names, p.Key())
	}
	return names
}
