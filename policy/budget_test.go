package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// list reads kind, amount, kind, amount, …
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func TestBudgetRefusesWhatWouldPassALimit(t *testing.T) {
	machine := list("cpu", "4", "memory", "8Gi", "example.com/gpu", "2")
	for name, c := range map[string]struct {
		limits      v1alpha1.Limits
		maxInFlight int32
		ready, made int // machines that are there, and of these in flight
		want        string
	}{
		"nothing when all limits are far":                 {v1alpha1.Limits{MaxNodes: 3}, 0, 2, 0, ""},
		"the last machine is allowed, the next is not":    {v1alpha1.Limits{MaxNodes: 3}, 0, 3, 0, "maxNodes 3"},
		"a pool of no nodes allows none":                  {v1alpha1.Limits{}, 0, 0, 0, "maxNodes 0"},
		"machines in flight count as nodes":               {v1alpha1.Limits{MaxNodes: 3}, 0, 1, 2, "maxNodes 3"},
		"only so many at once":                            {v1alpha1.Limits{MaxNodes: 9}, 2, 4, 2, "maxInFlight 2"},
		"zero in flight is no bound":                      {v1alpha1.Limits{MaxNodes: 9}, 0, 0, 8, ""},
		"a resource up to its limit":                      {v1alpha1.Limits{MaxNodes: 9, Resources: list("cpu", "8")}, 0, 1, 0, ""},
		"a resource above its limit":                      {v1alpha1.Limits{MaxNodes: 9, Resources: list("cpu", "11")}, 0, 2, 0, "cpu 11"},
		"an extended resource too":                        {v1alpha1.Limits{MaxNodes: 9, Resources: list("example.com/gpu", "3")}, 0, 0, 1, "example.com/gpu 3"},
		"the first resource by name is told":              {v1alpha1.Limits{MaxNodes: 9, Resources: list("memory", "1", "cpu", "1")}, 0, 0, 0, "cpu 1"},
		"a limit on what the machine does not have":       {v1alpha1.Limits{MaxNodes: 9, Resources: list("example.com/fpga", "0")}, 0, 0, 0, ""},
		"a limit that was lowered below what there is":    {v1alpha1.Limits{MaxNodes: 9, Resources: list("cpu", "1")}, 0, 2, 0, "cpu 1"},
		"the slots of a claim's name are the last word":   {v1alpha1.Limits{MaxNodes: 5000}, 0, 1000, 0, "maxNodes 1000"},
		"the count of machines is told before a resource": {v1alpha1.Limits{MaxNodes: 1, Resources: list("cpu", "4")}, 1, 0, 1, "maxNodes 1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBudget(c.limits, c.maxInFlight)
			for range c.ready {
				b.Spend(machine, false)
			}
			for range c.made {
				b.Spend(machine, true)
			}
			require.Equal(t, c.want, b.Refuses(machine))
			require.EqualValues(t, c.ready+c.made, b.Nodes())
		})
	}
}

func TestBudgetSumsDoNotOverflow(t *testing.T) {
	b := NewBudget(v1alpha1.Limits{MaxNodes: 1000, Resources: list("memory", "8.9P")}, 0)
	huge := list("memory", "7E")
	for range 5 {
		b.Spend(huge, false)
	}
	require.Equal(t, "memory 8900T", b.Refuses(list("memory", "1")))
	_, memory := b.Bound()
	require.Zero(t, memory, "a limit that was passed leaves nothing")
}

func TestBudgetCloneIsApart(t *testing.T) {
	b := NewBudget(v1alpha1.Limits{MaxNodes: 2, Resources: list("cpu", "8")}, 0)
	c := b.Clone()
	c.Spend(list("cpu", "8"), false)
	require.Equal(t, "cpu 8", c.Refuses(list("cpu", "1")))
	require.Empty(t, b.Refuses(list("cpu", "8")))
}

func TestBudgetRefundUndoesSpend(t *testing.T) {
	b := NewBudget(v1alpha1.Limits{MaxNodes: 1, Resources: list("cpu", "8")}, 1)
	b.Spend(list("cpu", "8"), true)
	require.NotEmpty(t, b.Refuses(list("cpu", "8")))
	b.Refund(list("cpu", "8"))
	require.Empty(t, b.Refuses(list("cpu", "8")))
}

func TestBudgetBound(t *testing.T) {
	cpu, memory := NewBudget(v1alpha1.Limits{MaxNodes: 1}, 0).Bound()
	require.EqualValues(t, math.MaxInt64, cpu)
	require.EqualValues(t, math.MaxInt64, memory)
	b := NewBudget(v1alpha1.Limits{MaxNodes: 1, Resources: list("cpu", "10", "memory", "4Gi")}, 0)
	b.Spend(list("cpu", "2500m", "memory", "1Gi"), false)
	cpu, memory = b.Bound()
	require.EqualValues(t, 7500, cpu)
	require.EqualValues(t, 3<<30, memory)
}
