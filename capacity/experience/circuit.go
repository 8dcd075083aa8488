package experience

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// The brakes: a pool whose machines come up and do not take the pods they were ordered for buys two of them, and after
// that one per hour. What counts is what the pods ask for, not who they are: a controller that makes its pods again and
// again buys nothing more.
const (
	// vainAfter is how long a Ready node has to take a pod it was ordered for; vainAtMost is how long it has while others
	// of the kind are being placed on the pool's nodes, since then the scheduler may only be slow.
	vainAfter  = capacity.ReservationTTL
	vainAtMost = 10 * time.Minute
	// vainMachines is how many machines in vain open a circuit.
	vainMachines = 2
	// probeEvery is how often a pool with an open circuit buys one machine all the same.
	probeEvery = time.Hour
	// circuitsKept is for how long after the next probe was due a circuit is remembered, maxCircuits how many are.
	circuitsKept = 23 * time.Hour
	maxCircuits  = 64
)

// Review is what became of the machines that were ordered for pods.
type Review struct {
	// Circuits of each pool as they are now: those in its status, with the machines that turned out to be in vain since,
	// and without those that a machine has closed.
	Circuits map[string][]v1alpha1.Circuit
	// Shapes are what the nodes of each pool turned out to offer.
	Shapes map[string][]v1alpha1.LearnedShape
	// Backoffs are the waits of each pool after machines that could not be had.
	Backoffs map[string][]v1alpha1.PoolBackoff
	// Decided are, by claim name, the entries of spec.orderedFor about which nothing is left to be found out.
	Decided map[string][]string
}

// Of reviews the machines of all pools.
func Of(v *capacity.View, now time.Time) Review {
	j := newJury(v, now)
	r := Review{
		Circuits: map[string][]v1alpha1.Circuit{}, Shapes: map[string][]v1alpha1.LearnedShape{},
		Backoffs: map[string][]v1alpha1.PoolBackoff{}, Decided: map[string][]string{},
	}
	for _, pool := range v.Pools {
		claims := j.byPool[pool.Name]
		r.Circuits[pool.Name] = j.circuits(pool)
		r.Shapes[pool.Name] = LearnedShapes(v, pool, claims, now)
		r.Backoffs[pool.Name] = Backoffs(v, pool, claims, now)
		for _, c := range j.byPool[pool.Name] {
			if decided := j.decided(pool, c); len(decided) > 0 {
				r.Decided[c.Object.Name] = decided
			}
		}
	}
	return r
}

// jury judges which machines came up in vain.
type jury struct {
	v      *capacity.View
	now    time.Time
	byPool map[string][]*capacity.Claim
	short  map[string][]*capacity.Shortfall // by PodsKey; made when first needed
}

func newJury(v *capacity.View, now time.Time) *jury {
	j := &jury{v: v, now: now, byPool: map[string][]*capacity.Claim{}}
	for _, c := range v.Claims {
		j.byPool[c.Object.Spec.Pool] = append(j.byPool[c.Object.Spec.Pool], c)
	}
	return j
}

// waiting are the pods without room of one kind.
func (j *jury) waiting(key string) []*capacity.Shortfall {
	if j.short == nil {
		j.short = map[string][]*capacity.Shortfall{}
		keys := map[string]string{}
		for _, s := range j.v.Shortfalls {
			k := keys[s.Pod.Ask.Signature]
			if k == "" {
				k = capacity.PodsKey(s.Pod.Ask)
				keys[s.Pod.Ask.Signature] = k
			}
			j.short[k] = append(j.short[k], s)
		}
	}
	return j.short[key]
}

// took says whether a machine has, or had, a pod of a kind.
func (j *jury) took(c *capacity.Claim, key string) bool {
	if slices.Contains(c.Took, key) {
		return true
	}
	signature, err := hex.DecodeString(key)
	return err == nil && slices.ContainsFunc(j.v.Pods[c.Node.Name], func(p *capacity.Pod) bool {
		return p.Ask.Signature == string(signature)
	})
}

// circuits brings the circuits of a pool up to date.
func (j *jury) circuits(pool *v1alpha1.NodePool) []v1alpha1.Circuit {
	var circuits []v1alpha1.Circuit
	claims := j.byPool[pool.Name]
	if len(pool.Status.Circuits) > 0 && pool.Status.Template == j.v.Template(pool).Hash {
		for i := range pool.Status.Circuits {
			c := pool.Status.Circuits[i].DeepCopy()
			j.rebase(c)
			if j.now.Sub(c.NextProbe.Time) < circuitsKept && !j.closes(c, claims) {
				circuits = append(circuits, *c)
			}
		}
	}
	for _, c := range claims {
		for _, key := range c.Object.Spec.OrderedFor {
			circuits = j.count(circuits, pool, c, key)
		}
	}
	return fewest(circuits)
}

// rebase lets a wait for the next probe that was noted by a clock that was ahead take no longer than it may.
func (j *jury) rebase(c *v1alpha1.Circuit) {
	if last := j.now.Add(probeEvery); c.NextProbe.After(last) {
		c.NextProbe = metav1.NewTime(last.Truncate(time.Second))
	}
}

// closes says whether a machine in vain took such a pod after all, or one that is newer than the first of them.
func (j *jury) closes(circuit *v1alpha1.Circuit, claims []*capacity.Claim) bool {
	return slices.ContainsFunc(claims, func(c *capacity.Claim) bool {
		o := c.Object
		return (circuit.Made.Before(&o.CreationTimestamp) || slices.Contains(circuit.Vain, o.UID)) && j.took(c, circuit.Pods)
	})
}

// count counts a machine that is in vain for a kind of pods, once, until the circuit is open. A probe puts the next one
// off.
func (j *jury) count(circuits []v1alpha1.Circuit, pool *v1alpha1.NodePool, c *capacity.Claim, key string) []v1alpha1.Circuit {
	at := slices.IndexFunc(circuits, func(x v1alpha1.Circuit) bool { return x.Pods == key })
	if at >= 0 {
		circuits[at].NextProbe = later(circuits[at].NextProbe, earlier(c.Object.CreationTimestamp.Time, j.now).Add(probeEvery))
	}
	if at >= 0 && (circuits[at].Open() || slices.Contains(circuits[at].Vain, c.Object.UID)) {
		return circuits
	}
	why, verdict := j.judge(c, key)
	if verdict != inVain || !capacity.MadeFrom(pool, c.Object) {
		return circuits
	}
	if at < 0 {
		at = len(circuits)
		circuits = append(circuits, v1alpha1.Circuit{Pods: key, Made: c.Object.CreationTimestamp})
	}
	x := &circuits[at]
	x.Vain = append(x.Vain, c.Object.UID)
	if c.Object.CreationTimestamp.Before(&x.Made) {
		x.Made = c.Object.CreationTimestamp
	}
	x.Since, x.NextProbe = metav1.NewTime(j.now), later(x.NextProbe, j.now.Add(probeEvery))
	x.Reason, x.Message = string(why.Code), c.Object.Name+": "+why.String()
	x.Example = j.waiting(key)[0].Pod.Key()
	return circuits
}

func later(a metav1.Time, b time.Time) metav1.Time {
	if b.After(a.Time) {
		return metav1.NewTime(b.Truncate(time.Second))
	}
	return a
}

// finding is what is known of a machine and a kind of pods it was ordered for.
type finding int

const (
	notYet finding = iota // nothing
	inVain                // it came up, and such a pod still waits
	ofUse                 // it took such a pod, or others have used it, or nobody needed it
)

// judge says whether a machine came up in vain for a kind of pods, and what stood in the way.
func (j *jury) judge(c *capacity.Claim, key string) (capacity.Reason, finding) {
	ready := readyFor(c.Object, j.now)
	if ready < vainAfter {
		return capacity.Reason{}, notYet
	}
	waiting := j.waiting(key)
	switch {
	case j.took(c, key), len(waiting) == 0 && ready >= vainAtMost:
		return capacity.Reason{}, ofUse
	case len(waiting) == 0:
		return capacity.Reason{}, notYet
	}
	why, sure := j.whyNot(c, waiting)
	switch {
	case why.Code == "":
		return why, ofUse
	case !sure && ready < vainAtMost && j.takenElsewhere(c, key):
		return capacity.Reason{}, notYet
	}
	return why, inVain
}

// takenElsewhere says whether other machines of the pool have taken such pods: then the scheduler may only be slow.
func (j *jury) takenElsewhere(c *capacity.Claim, key string) bool {
	return slices.ContainsFunc(j.byPool[c.Object.Spec.Pool], func(o *capacity.Claim) bool { return o != c && j.took(o, key) })
}

// whyNot says what keeps pods of a kind off a node that is there, and whether that is sure; no reason where other pods
// use the room.
func (j *jury) whyNot(c *capacity.Claim, waiting []*capacity.Shortfall) (why capacity.Reason, sure bool) {
	n, ask := c.Node, waiting[0].Pod.Ask
	empty := n.Allocatable.Minus(n.Daemons)
	for _, p := range j.v.Pods[n.Name] {
		if p.Resident() {
			empty.Sub(p.Usage)
		}
	}
	open := withoutClosing(n)
	if v := capacity.Fit(ask, open, empty, j.v.Classes); !v.Fits {
		return v.Reason, true
	}
	if !capacity.Fit(ask, open, n.Free().Plus(n.Reserved), j.v.Classes).Fits {
		return capacity.Reason{}, true
	}
	refused := capacity.Reason{Code: capacity.CodeRefused, Detail: n.Name}
	return refused, slices.ContainsFunc(waiting, func(s *capacity.Shortfall) bool { return s.RefusesNode(n.Name, j.v.Seen[n.Name]) })
}

// withoutClosing is a node as it was before its release began.
func withoutClosing(n *capacity.Node) *capacity.Node {
	if n.Stage == capacity.Open {
		return n
	}
	return capacity.WithoutStartup(n, nil)
}

// readyFor is how long a claim's node was ready at a stretch: until now, or until something ended that.
func readyFor(c *v1alpha1.NodeClaim, now time.Time) time.Duration {
	if c.Status.ReadyAt == nil {
		return 0
	}
	end := now
	if c.Spec.Release != nil {
		end = c.Spec.Release.Since.Time
	}
	for i := range c.Status.Conditions {
		// A condition's time has whole seconds.
		x := &c.Status.Conditions[i]
		if t := x.LastTransitionTime.Add(time.Second); x.Type == v1alpha1.ConditionReady && x.Status == metav1.ConditionFalse && t.Before(end) {
			end = t
		}
	}
	return end.Sub(c.Status.ReadyAt.Time)
}

// fewest keeps as many circuits as the pool's status may list: open ones first, then the newest. It sorts them by kind.
func fewest(circuits []v1alpha1.Circuit) []v1alpha1.Circuit {
	if len(circuits) > maxCircuits {
		slices.SortStableFunc(circuits, func(a, b v1alpha1.Circuit) int {
			return cmp.Or(cmp.Compare(len(b.Vain), len(a.Vain)), b.Since.Compare(a.Since.Time))
		})
		circuits = circuits[:maxCircuits]
	}
	slices.SortFunc(circuits, func(a, b v1alpha1.Circuit) int { return strings.Compare(a.Pods, b.Pods) })
	return circuits
}

// decided lists the kinds of pods of a claim that need no second look: what became of the machine is known, and where it
// was in vain, the pool's status says so already.
func (j *jury) decided(pool *v1alpha1.NodePool, c *capacity.Claim) []string {
	var decided []string
	for _, key := range c.Object.Spec.OrderedFor {
		switch _, verdict := j.judge(c, key); {
		case verdict == ofUse, verdict == inVain && (countedVain(pool, key, c.Object.UID) || !capacity.MadeFrom(pool, c.Object)):
			decided = append(decided, key)
		}
	}
	return decided
}

func countedVain(pool *v1alpha1.NodePool, key string, uid types.UID) bool {
	return slices.ContainsFunc(pool.Status.Circuits, func(x v1alpha1.Circuit) bool {
		return x.Pods == key && (x.Open() || slices.Contains(x.Vain, uid))
	})
}
