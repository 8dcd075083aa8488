package control

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/preemption"
)

// preempting is a preemption under way.
type preempting struct {
	pod     *capacity.Pod
	node    string
	victims []types.UID
	until   time.Time // when those who were to leave count as stuck
	ready   time.Time // since when the room is there; zero while it is not
	nudged  time.Time
	named   bool // the node was nominated; never twice
}

const (
	// leaveWithin is how long an eviction may take to show in the pod.
	leaveWithin = 30 * time.Second
	// takeWithin is how long the scheduler may take to use the room once it is there: it is woken every second.
	takeWithin = 30 * time.Second
)

func (p *Preemptor) begin(m preemption.Move, now time.Time) {
	w := &preempting{pod: m.Pod, node: m.Node, until: now.Add(leaveWithin)}
	for _, v := range m.Victims {
		w.victims = append(w.victims, v.UID)
		if seen := p.Live.Pod(v.UID); seen != nil && seen.Terminating {
			w.stretch(preemption.Until(seen))
		}
	}
	for _, v := range m.Leaving {
		w.stretch(preemption.Until(v))
	}
	p.under[m.Pod.UID] = w
}

func (w *preempting) stretch(until time.Time) {
	if until.After(w.until) {
		w.until = until
	}
}

// follow looks at every preemption under way, and says when the next of them is due.
func (p *Preemptor) follow(ctx context.Context, now time.Time) time.Duration {
	var next time.Duration
	for _, uid := range p.order() {
		w := p.under[uid]
		outcome, left := p.step(ctx, w, now)
		if outcome == "" {
			next = shortest(next, max(left, minWait))
			continue
		}
		delete(p.under, uid)
		p.observe(outcome, 0)
		p.Log.Info("preemption ended", "pod", w.pod.Key(), "node", w.node, "outcome", outcome)
	}
	return next
}

func (p *Preemptor) order() []types.UID {
	uids := make([]types.UID, 0, len(p.under))
	for uid := range p.under {
		uids = append(uids, uid)
	}
	slices.SortFunc(uids, func(a, b types.UID) int { return strings.Compare(string(a), string(b)) })
	return uids
}

// step says how a preemption ended, or how long it may rest.
func (p *Preemptor) step(ctx context.Context, w *preempting, now time.Time) (PreemptionOutcome, time.Duration) {
	node, why := p.Live.Promised(w.pod.UID)
	pod := p.Live.Pod(w.pod.UID)
	switch {
	case node == "" || pod == nil:
		return p.over(pod, w)
	case !pod.Pending():
		p.Live.Unpromise(pod.UID, now)
		return PreemptionPlaced, 0
	case why.Code != "" && why.Code != capacity.CodeInsufficient && why.Code != capacity.CodeTooManyPods:
		return p.giveUp(w, PreemptionStuck, now)
	case why.Code == "" && p.gone(w.victims):
		return p.offer(ctx, w, pod, now)
	case !now.Before(w.until):
		return p.giveUp(w, PreemptionStuck, now)
	}
	w.ready = time.Time{}
	return "", w.until.Sub(now)
}

// over is where the filter has sent the pod somewhere, and it need not be watched any more.
func (p *Preemptor) over(pod *capacity.Pod, w *preempting) (PreemptionOutcome, time.Duration) {
	if pod != nil && pod.Node == w.node {
		p.brakes.clear(pod)
	}
	return PreemptionPlaced, 0
}

func (p *Preemptor) gone(pods []types.UID) bool {
	for _, uid := range pods {
		if seen := p.Live.Pod(uid); seen != nil && !seen.Finished {
			return false
		}
	}
	return true
}

// offer nominates the node once, which wakes the scheduler, and then goes on waking it.
func (p *Preemptor) offer(ctx context.Context, w *preempting, pod *capacity.Pod, now time.Time) (PreemptionOutcome, time.Duration) {
	if w.ready.IsZero() {
		w.ready = now
	}
	switch {
	case !w.named && !p.Live.WasNominated(pod.UID):
		w.named, w.nudged = true, now
		if err := p.Kube.Nominate(ctx, pod.Ref(), w.node); err != nil {
			p.Log.Warn("cannot nominate the node", "pod", pod.Key(), "node", w.node, "error", err)
		}
	case now.Sub(w.ready) >= takeWithin:
		return p.giveUp(w, PreemptionVain, now)
	case now.Sub(w.nudged) >= nudgeEvery:
		w.nudged = now
		p.Teller.Nudge(pod, "there is room on node "+w.node)
	}
	return "", w.nudged.Add(nudgeEvery).Sub(now)
}

func (p *Preemptor) giveUp(w *preempting, outcome PreemptionOutcome, now time.Time) (PreemptionOutcome, time.Duration) {
	p.Live.Unpromise(w.pod.UID, now)
	if outcome == PreemptionVain {
		p.brakes.vain(w.pod, w.node, now)
	} else {
		p.brakes.block(w.pod, w.node, capacity.Reason{}, now)
	}
	return outcome, 0
}
