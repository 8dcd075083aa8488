package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func TestCost(t *testing.T) {
	shape := v1alpha1.Shape{Resources: list("cpu", "4", "memory", "8Gi")}
	require.InDelta(t, 0.010+4*0.030+8*0.004, Cost(shape), 1e-12)
	shape.Price = new(resource.MustParse("250m"))
	require.InDelta(t, 0.25, Cost(shape), 1e-12)
	shape.Price = new(resource.MustParse("-1"))
	require.Zero(t, Cost(shape))
}

func TestBetterOffer(t *testing.T) {
	for name, c := range map[string]struct {
		goal Goal
		a, b Offer
		want bool
	}{
		"cheap: less cost for what is packed":           {Cheap, Offer{Cost: 1, Packed: 2}, Offer{Cost: 4, Packed: 4}, true},
		"cheap: more cost for what is packed":           {Cheap, Offer{Cost: 4, Packed: 4}, Offer{Cost: 1, Packed: 2}, false},
		"cheap: the larger among equals":                {Cheap, Offer{Cost: 4, Packed: 4}, Offer{Cost: 1, Packed: 1}, true},
		"cheap: rounding is no difference":              {Cheap, Offer{Cost: 0.3, Packed: 3}, Offer{Cost: 0.1 * 1.0000000000001, Packed: 1}, true},
		"large: more packed, whatever it costs":         {Large, Offer{Cost: 9, Packed: 4}, Offer{Cost: 1, Packed: 3}, true},
		"large: the cheaper among equals":               {Large, Offer{Cost: 1, Packed: 4}, Offer{Cost: 2, Packed: 4}, true},
		"an idle device comes last":                     {Cheap, Offer{Cost: 9, Packed: 1}, Offer{Cost: 1, Packed: 9, Idle: true}, true},
		"an idle device comes last for the large, too":  {Large, Offer{Cost: 1, Packed: 9, Idle: true}, Offer{Cost: 9, Packed: 1}, false},
		"an equal offer is not better":                  {Cheap, Offer{Cost: 1, Packed: 1}, Offer{Cost: 1, Packed: 1}, false},
		"a machine that costs nothing is the best":      {Cheap, Offer{Packed: 1}, Offer{Cost: 1, Packed: 100}, true},
		"of two that cost nothing the larger is better": {Cheap, Offer{Packed: 2}, Offer{Packed: 1}, true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.goal.Better(c.a, c.b)) })
	}
}

func TestBetterBill(t *testing.T) {
	for name, c := range map[string]struct {
		a, b Bill
		want bool
	}{
		"more important pods served":   {Bill{Served: []int{2, 2, 0, 0, 0, 0}, Cost: 9}, Bill{Served: []int{1, 1, 0, 8, 8, 0}}, true},
		"more of them in better pools": {Bill{Served: []int{2, 2, 0}, Cost: 9}, Bill{Served: []int{2, 1, 1}}, true},
		"the cheaper":                  {Bill{Served: []int{2}, Cost: 1, Machines: 9}, Bill{Served: []int{2}, Cost: 2, Machines: 1}, true},
		"fewer machines":               {Bill{Served: []int{2}, Cost: 1, Machines: 1}, Bill{Served: []int{2}, Cost: 1, Machines: 2}, true},
		"an equal bill is not better":  {Bill{Served: []int{2}, Cost: 1, Machines: 1}, Bill{Served: []int{2}, Cost: 1, Machines: 1}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.a.Better(c.b)) })
	}
}

func TestTiers(t *testing.T) {
	pool := func(name string, weight int32) *v1alpha1.NodePool {
		return &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.NodePoolSpec{Weight: weight}}
	}
	var got [][]string
	for _, tier := range Tiers([]*v1alpha1.NodePool{pool("c", 1), pool("b", 5), pool("d", 0), pool("a", 5)}) {
		var names []string
		for _, p := range tier {
			names = append(names, p.Name)
		}
		got = append(got, names)
	}
	require.Equal(t, [][]string{{"a", "b"}, {"c"}, {"d"}}, got)
	require.Empty(t, Tiers(nil))
}
