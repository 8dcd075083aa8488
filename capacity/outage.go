package capacity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// outageNodes is how many nodes must be silent at least to speak of an outage, outageShare of how many one of them.
	outageNodes = 2
	outageShare = 3

	// OutageLasts is for how long a silent node counts for an outage that keeps other nodes from being released. Its pods were
	// evicted after five minutes, and have other nodes by then or are known to need one.
	OutageLasts = 6 * time.Hour
)

// Outage is the silent nodes of ours, where these are so many that it is not the nodes that are sick.
type Outage struct {
	// Silent are their names, in order; empty when there is no outage.
	Silent []string
	// Of is how many nodes were counted.
	Of int
	// Ends is when the outage ends though no node comes back; zero when it does not.
	Ends time.Time
}

// On says whether there is an outage.
func (o Outage) On() bool { return len(o.Silent) > 0 }

// Outage says whether a third of our nodes are silent, and two at least. Nodes that others made do not count, nor do those that still
// start, or go for another reason than their silence. Nodes that have been silent since the given time, or for longer, do not count
// either; the zero time counts all.
func (v *View) Outage(after time.Time) Outage {
	var o Outage
	var since []time.Time
	for _, c := range v.Claims {
		if _, there := v.Seen[c.Node.Name]; !there || c.InFlight() || Closed(c.Object) && !forSilence(c) {
			continue
		}
		at, silent := v.Silent[c.Node.Name]
		switch {
		case !silent:
			o.Of++
		case at.After(after):
			o.Of++
			o.Silent, since = append(o.Silent, c.Node.Name), append(since, at)
		}
	}
	if len(o.Silent) < outageNodes || outageShare*len(o.Silent) < o.Of {
		return Outage{Of: o.Of}
	}
	slices.Sort(o.Silent)
	if !after.IsZero() {
		o.Ends = ends(since, o.Of)
	}
	return o
}

// ends is when so few of the nodes count any more, which have been silent since then, that it is no outage.
func ends(since []time.Time, of int) time.Time {
	slices.SortFunc(since, time.Time.Compare)
	for i, at := range since {
		if left := len(since) - i - 1; left < outageNodes || outageShare*left < of-i-1 {
			return at.Add(OutageLasts)
		}
	}
	return time.Time{}
}

// ReasonUnhealthy is the reason of a release by which a node is replaced that was silent for long.
const ReasonUnhealthy = "Unhealthy"

// forSilence says that a node goes because it was silent.
func forSilence(c *Claim) bool {
	return c.Object.Spec.Release != nil && c.Object.Spec.Release.Reason == ReasonUnhealthy
}

// Unreachable goes by the taints that the node lifecycle controller puts on.
func Unreachable(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
}
