package release

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay"
)

// step is what begins or ends to be asked for.
type step struct {
	at   time.Duration
	pool string // the only one that can take the pod; "" where several can
	asks amounts
	sign float64
}

// Bound is node-hours below which nobody serves a load whose pods run from their arrival on: at each moment as many whole nodes
// as what is asked for needs of the best resource by resource, pods and machines cut at will, moved at will, booted in no time.
// Pods that only one pool can take need nodes of that pool; the others may use what is left on those.
func Bound(load replay.Load, pools []*v1alpha1.NodePool) (float64, error) {
	steps, err := steps(load, pools)
	if err != nil {
		return 0, err
	}
	most := map[string]amounts{"": {}}
	for _, p := range pools {
		most[p.Name] = amounts{}
		for _, s := range p.Spec.Template.Shapes {
			most[p.Name].atLeast(s.Resources)
			most[""].atLeast(s.Resources)
		}
	}
	asked, hours, last := map[string]amounts{}, 0.0, time.Duration(0)
	for _, s := range steps {
		hours += nodesFor(asked, most) * (s.at - last).Hours()
		last = s.at
		if asked[s.pool] == nil {
			asked[s.pool] = amounts{}
		}
		for name, amount := range s.asks {
			asked[s.pool][name] += s.sign * amount
		}
	}
	return hours, nil
}

// nodesFor is the bound at one moment.
func nodesFor(asked, most map[string]amounts) float64 {
	const rounding = 1e-6
	nodes, rest := 0.0, amounts{}
	for pool, asks := range asked {
		need := 0.0
		for name, amount := range asks {
			rest[name] += amount
			if pool != "" && most[pool][name] > 0 {
				need = math.Max(need, math.Ceil(amount/most[pool][name]-rounding))
			}
		}
		nodes += need
		for name, amount := range most[pool] {
			rest[name] -= need * amount
		}
	}
	further := 0.0
	for name, amount := range rest {
		if most[""][name] > 0 {
			further = math.Max(further, math.Ceil(amount/most[""][name]-rounding))
		}
	}
	return nodes + further
}

func steps(load replay.Load, pools []*v1alpha1.NodePool) (out []step, err error) {
	for {
		a, err := load.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if a.Runs == 0 || a.Leaves > 0 {
			continue // it may never run
		}
		s := step{at: a.At, pool: onlyPool(a.Pod, pools), asks: amounts{}, sign: 1}
		s.asks.atLeast(a.Pod.Spec.Containers[0].Resources.Requests)
		end := s
		end.at, end.sign = a.At+a.Runs, -1
		out = append(out, s, end)
	}
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return out, nil
}

// onlyPool is the pool whose labels a pod insists on; "" where several have them.
func onlyPool(p *corev1.Pod, pools []*v1alpha1.NodePool) (name string) {
	insists := nodeaffinity.GetRequiredNodeAffinity(p)
	for _, pool := range pools {
		if fits, err := insists.Match(&corev1.Node{ObjectMeta: metaOf(pool)}); err != nil || !fits {
			continue
		}
		if name != "" {
			return ""
		}
		name = pool.Name
	}
	return name
}

func (a amounts) atLeast(list corev1.ResourceList) {
	for name, q := range list {
		a[string(name)] = math.Max(a[string(name)], q.AsApproximateFloat64())
	}
}

func metaOf(p *v1alpha1.NodePool) metav1.ObjectMeta {
	return metav1.ObjectMeta{Labels: p.Spec.Template.Labels}
}
