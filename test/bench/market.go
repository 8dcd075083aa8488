// Package bench solves the same pods with Karpenter's scheduler and with Muster's planner, and compares speed and cost.
// Karpenter is used as a library, at the version in go.mod; nothing of it is part of the product. What either buys is
// recounted by a checker that shares no code with them. The benchmarks never fail for being slow; TestCost fails where
// Muster's plan costs more than Karpenter's.
package bench

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// shapes is how many machine types there are, as in Karpenter's own benchmark.
const shapes = 400

// zones are where every type is offered. Karpenter's fake types have these three by default.
var zones = []string{"test-zone-1", "test-zone-2", "test-zone-3"}

// market is what both may buy: Karpenter's fake instance types (the i-th with i+1 cores, 2(i+1) GiB and 10(i+1) pods, at
// one price in every zone), and for Muster a pool for each zone with the same types as shapes.
type market struct {
	types  []*cloudprovider.InstanceType
	byName map[string]*cloudprovider.InstanceType
	pools  []*v1alpha1.NodePool
}

func newMarket() *market {
	m := &market{types: fake.InstanceTypes(shapes), byName: map[string]*cloudprovider.InstanceType{}}
	for _, it := range m.types {
		m.byName[it.Name] = it
	}
	for _, zone := range zones {
		m.pools = append(m.pools, m.pool(zone))
	}
	return m
}

// price of one machine for one hour: the one price function of this comparison.
func (m *market) price(name string) float64 { return m.byName[name].Offerings[0].Price }

func (m *market) pool(zone string) *v1alpha1.NodePool {
	overhead := m.types[0].Overhead.Total()
	p := &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: zone, UID: types.UID("pool-" + zone)},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: v1alpha1.MaxPoolNodes},
			Template: v1alpha1.NodeTemplate{
				Labels: map[string]string{corev1.LabelTopologyZone: zone}, Overhead: overhead,
			},
			ScaleUp: v1alpha1.ScaleUp{MaxAttempts: 3, RegistrationTimeout: &metav1.Duration{Duration: 10 * time.Minute}},
		},
	}
	for _, it := range m.types {
		price := resource.MustParse(fmt.Sprintf("%.9f", m.price(it.Name)))
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, v1alpha1.Shape{
			Name: it.Name, Resources: it.Capacity, Price: &price,
		})
	}
	return p
}

// machine is one that a planner buys.
type machine struct {
	shape, zone string
	pods        []*corev1.Pod
}

// answer is what a planner makes of the pods.
type answer struct {
	machines []machine
	unserved int
	took     time.Duration
	// lowerBound of the cost, where the planner tells one.
	lowerBound float64
}

func (m *market) cost(a answer) float64 {
	sum := 0.0
	for _, bought := range a.machines {
		sum += m.price(bought.shape)
	}
	return sum
}
