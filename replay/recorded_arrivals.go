package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// recorded sorts out who decided what.
func (m *memory) recorded() *Recorded {
	r := &Recorded{From: m.from, To: m.to, Pools: byName(m.pools), DaemonSets: byName(m.daemons)}
	made := sets.New[string]()
	for _, c := range m.claims {
		if c.claim.Status.NodeName != "" {
			made.Insert(c.claim.Status.NodeName)
		}
	}
	foreign := sets.New[string]()
	for _, n := range byName(m.nodes) {
		if !made.Has(n.Name) {
			n.UID, n.CreationTimestamp = "", metav1.Time{}
			r.Nodes = append(r.Nodes, n)
			foreign.Insert(n.Name)
		}
	}
	m.sortPods(r, foreign)
	r.Providers = m.simulated()
	r.Machines = m.machines()
	r.Delays = m.delays()
	return r
}

func byName[T metav1.Object](all map[types.UID]T) []T {
	return slices.SortedFunc(maps.Values(all), func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
	})
}

// sortPods tells arrivals from pods that are only there.
func (m *memory) sortPods(r *Recorded, foreign sets.Set[string]) {
	all := slices.SortedFunc(maps.Values(m.pods), func(a, b *recordedPod) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	for _, p := range all {
		_, mirror := p.pod.Annotations[corev1.MirrorPodAnnotationKey]
		daemon := controllerKind(p.pod) == "DaemonSet"
		switch {
		case m.ours.Has(p.pod.Spec.SchedulerName) && !mirror && !daemon:
			r.arrivals = append(r.arrivals, m.arrival(p))
		case foreign.Has(p.pod.Spec.NodeName) && p.first.Before(m.from.Add(listed)) && !finished(p.pod):
			q := p.pod.DeepCopy()
			q.UID, q.CreationTimestamp = "", metav1.Time{}
			r.Pods = append(r.Pods, q)
		}
	}
}

func controllerKind(p *corev1.Pod) string {
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		return o.Kind
	}
	return ""
}

// arrival is a pod as somebody made it.
func (m *memory) arrival(p *recordedPod) Arrival {
	q := p.pod.DeepCopy()
	q.UID, q.CreationTimestamp, q.DeletionTimestamp, q.Status = "", metav1.Time{}, nil, corev1.PodStatus{QOSClass: q.Status.QOSClass}
	q.Spec.NodeName, q.Spec.SchedulerName = "", Scheduler
	q.Spec.Volumes = slices.DeleteFunc(q.Spec.Volumes, claims)
	a := Arrival{At: p.first.Sub(m.from), Pod: q}
	switch {
	case !p.finished.IsZero() && !p.bound.IsZero():
		a.Runs = ran(p.bound, p.finished)
	case !p.ended.IsZero():
		a.Leaves = max(p.ended.Sub(m.from), a.At+time.Millisecond)
	}
	return a
}

// claims says whether a volume is a claim's: a recording holds no claims, and a pod whose claim is missing goes nowhere.
func claims(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

// ran takes off what a kubelet needs to start a pod, which is added again.
func ran(bound, end time.Time) time.Duration {
	return max(end.Sub(bound)-DefaultDelays().PodStart, time.Millisecond)
}

// delays take from the recording how long a registered node needs to be ready, and how much longer where its pool has
// startup taints.
func (m *memory) delays() Delays {
	var plain, tainted []time.Duration
	for _, c := range m.claims {
		s := c.claim.Status
		switch {
		case s.RegisteredAt == nil || s.ReadyAt == nil:
		case len(c.claim.Spec.StartupTaints) > 0:
			tainted = append(tainted, s.ReadyAt.Sub(s.RegisteredAt.Time))
		default:
			plain = append(plain, s.ReadyAt.Sub(s.RegisteredAt.Time))
		}
	}
	d := DefaultDelays()
	d.NodeReady = median(plain, d.NodeReady)
	d.Drivers = max(median(tainted, d.NodeReady+d.Drivers)-d.NodeReady, 0)
	return d
}

func median(all []time.Duration, otherwise time.Duration) time.Duration {
	if len(all) == 0 {
		return otherwise
	}
	slices.Sort(all)
	return max(all[len(all)/2], time.Millisecond).Round(time.Millisecond)
}

// simulated are the Providers, with machines that boot as fast as the recorded ones did.
func (m *memory) simulated() []*v1alpha1.Provider {
	boots := map[string][]time.Duration{}
	for _, c := range m.claims {
		s := c.claim.Status
		if s.LaunchedAt != nil && s.RegisteredAt != nil {
			boots[c.claim.Spec.Provider] = append(boots[c.claim.Spec.Provider], s.RegisteredAt.Sub(s.LaunchedAt.Time))
		}
	}
	all := byName(m.providers)
	for _, p := range all {
		times := slices.Sorted(slices.Values(boots[p.Name]))
		if p.Spec.Type == v1alpha1.ProviderSim && p.Spec.Sim != nil || len(times) == 0 {
			continue
		}
		at := func(i int) *metav1.Duration {
			return &metav1.Duration{Duration: max(times[i], time.Millisecond).Round(time.Millisecond)}
		}
		p.Spec.Type, p.Spec.Sim = v1alpha1.ProviderSim, &v1alpha1.Sim{Boot: v1alpha1.BootTime{
			Min: at(0), Median: at(len(times) / 2), Max: at(len(times) - 1),
		}}
	}
	return all
}
