package housekeeping

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Unhealthy is the reason of a release by which a node is replaced.
const Unhealthy = capacity.ReasonUnhealthy

// sickInPool is how many of a pool's nodes may be silent, in percent (rounded up), that one of them is replaced. Beyond that it is not
// the nodes that are sick.
const sickInPool = 20

// Repairs says what is to be done about nodes of ours that are not ready.
type Repairs struct {
	// Replace are the claims to be released, and Restart those whose machines are to be restarted: one of a pool at a time, the
	// longest silent first.
	Replace []Replacement
	Restart []Replacement
	// Spare are the claims whose node came back before anything was asked of the provider.
	Spare []*v1alpha1.NodeClaim
	// Reasons says of each silent node why it is left alone, or that it is not, by claim.
	Reasons map[string]Verdict
}

// Replacement is a claim to be released or restarted, and its pool.
type Replacement struct {
	Claim *v1alpha1.NodeClaim
	Pool  *v1alpha1.NodePool
}

// The verdicts on silent nodes. Only Replaced and Restarted act.
const (
	Replaced  Verdict = "Replaced"  // it is released, and its pods or the pool's minimum buy another one
	Restarted Verdict = "Restarted" // its machine is restarted, and if that does not help, replaced
	UnderWay  Verdict = "UnderWay"  // its machine is being restarted, or has the time of a boot
	NotAsked  Verdict = "NotAsked"  // its pool does not ask for repair
	NotYet    Verdict = "NotYet"    // silent for less than repair.after
	Guarded   Verdict = "Protected" // somebody asked for it to be kept
	Silence   Verdict = "Outage"    // too many are silent: it is not the nodes that are sick
	InTurn    Verdict = "InTurn"    // another node of the pool is on its way out
	NoAnswer  Verdict = "NoAnswer"  // its provider does not answer
	BackedOff Verdict = "BackedOff" // its last drain was undone
)

// ward is a pool while its nodes are judged.
type ward struct {
	pool        *v1alpha1.NodePool
	nodes, sick int
	busy        bool // a node of it is on its way out
}

// Repair judges every node of ours that is not ready, by the time for which this process has seen its taint.
func Repair(v *capacity.View, now time.Time) Repairs {
	r := Repairs{Reasons: map[string]Verdict{}}
	wards := admit(v)
	outage := v.Outage(time.Time{}).On()
	for _, c := range longestSilent(v) {
		w, since := wards[c.Object.Spec.Pool], silentSince(c.Node.Object)
		release := c.Object.Spec.Release
		switch {
		case since.IsZero():
			if release != nil && release.Reason == Unhealthy && c.Object.DeletionTimestamp == nil && beforeTheCall(c.Object) {
				r.Spare = append(r.Spare, c.Object)
			}
		case c.Object.Status.State == v1alpha1.ClaimReady && !capacity.Closed(c.Object) && w != nil:
			why := w.judge(v, c, since, outage, now)
			switch r.Reasons[c.Object.Name] = why; why {
			case Replaced:
				r.Replace, w.busy = append(r.Replace, Replacement{c.Object, w.pool}), true
			case Restarted:
				r.Restart, w.busy = append(r.Restart, Replacement{c.Object, w.pool}), true
			}
		}
	}
	return r
}

func beforeTheCall(c *v1alpha1.NodeClaim) bool {
	return c.Status.State == v1alpha1.ClaimReady || c.Status.State == v1alpha1.ClaimDraining
}

func (w *ward) judge(v *capacity.View, c *capacity.Claim, since time.Time, outage bool, now time.Time) Verdict {
	switch {
	case w.pool.Spec.Repair == nil:
		return NotAsked
	case restarting(c.Object):
		return UnderWay
	case now.Sub(v.Silent[c.Node.Name]) < w.pool.Spec.Repair.After.Duration:
		return NotYet
	case kept(c.Node.Object) || c.Object.Annotations[v1alpha1.DoNotReleaseAnnotation] == "true":
		return Guarded
	case outage, w.sick > max(1, (w.nodes*sickInPool+99)/100):
		return Silence
	case !v.Answers(w.pool):
		return NoAnswer
	case c.Object.Status.DrainAgain != nil && now.Before(c.Object.Status.DrainAgain.Time):
		return BackedOff
	case w.busy:
		return InTurn
	}
	return w.cure(v, c, since, now)
}

// restartHolds is how long a restart should help: who is silent again before that is replaced.
const restartHolds = time.Hour

// cure is what helps a node that has been silent since: its machine is restarted once.
func (w *ward) cure(v *capacity.View, c *capacity.Claim, since, now time.Time) Verdict {
	switch last := c.Object.Status.Restart; {
	case w.pool.Spec.Repair.Strategy == v1alpha1.RepairByReplacement:
		return Replaced
	case last != nil && (!last.Since.Time.Before(since) || now.Sub(last.At.Time) < restartHolds):
		return Replaced
	case shields(v, c):
		return Guarded
	}
	return Restarted
}

// shields says that a pod runs there, or may, that nobody is to disturb. A replacement asks it to leave; a restart would not ask.
func shields(v *capacity.View, c *capacity.Claim) bool {
	return slices.ContainsFunc(v.Pods[c.Node.Object.Name], func(p *capacity.Pod) bool { return p.Protected() && !p.Terminating })
}

// restarting says that a restart was asked for and is not over.
func restarting(c *v1alpha1.NodeClaim) bool {
	asked, last := c.Spec.Restart, c.Status.Restart
	return asked != nil && (last == nil || asked.Since.After(last.Since.Time) || !last.Over())
}

// admit counts the pools' nodes.
func admit(v *capacity.View) map[string]*ward {
	wards := map[string]*ward{}
	for _, p := range v.Pools {
		wards[p.Name] = &ward{pool: p}
	}
	for _, c := range v.Claims {
		w := wards[c.Object.Spec.Pool]
		if w == nil || c.InFlight() {
			continue
		}
		w.nodes++
		switch {
		case capacity.Closed(c.Object):
			w.busy = w.busy || c.Object.Spec.Release != nil && c.Object.Spec.Release.Reason == Unhealthy
		case restarting(c.Object):
			w.busy = true
			w.sick++
		case !silentSince(c.Node.Object).IsZero():
			w.sick++
		}
	}
	return wards
}

// longestSilent orders claims by how long their node has been silent; of others, by name.
func longestSilent(v *capacity.View) []*capacity.Claim {
	sorted := slices.Clone(v.Claims)
	slices.SortStableFunc(sorted, func(a, b *capacity.Claim) int {
		return cmp.Or(silentSince(a.Node.Object).Compare(silentSince(b.Node.Object)), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return sorted
}

// silentSince is when the node lifecycle controller put its NoExecute taint on; zero for a node that is heard of.
func silentSince(n *corev1.Node) (since time.Time) {
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		silent := t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
		if silent && t.TimeAdded != nil && (since.IsZero() || t.TimeAdded.Time.Before(since)) {
			since = t.TimeAdded.Time
		}
	}
	return since
}
