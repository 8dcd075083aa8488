package policy

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func TestReleaseLimit(t *testing.T) {
	const idle, underused = v1alpha1.ReleaseIdle, v1alpha1.ReleaseUnderused
	monday9 := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	share := func(s string, reasons ...v1alpha1.ReleaseReason) v1alpha1.ReleaseBudget {
		return v1alpha1.ReleaseBudget{Nodes: intstr.FromString(s), Reasons: reasons}
	}
	count := func(n int32) v1alpha1.ReleaseBudget { return v1alpha1.ReleaseBudget{Nodes: intstr.FromInt32(n)} }
	window := func(schedule string, d time.Duration) v1alpha1.ReleaseBudget {
		return v1alpha1.ReleaseBudget{Nodes: intstr.FromInt32(0), Schedule: schedule, Duration: &metav1.Duration{Duration: d}}
	}
	office := window("0 9 * * mon-fri", 8*time.Hour)
	for name, c := range map[string]struct {
		budgets []v1alpha1.ReleaseBudget
		reason  v1alpha1.ReleaseReason
		nodes   int
		now     time.Time
		want    int
		why     string
	}{
		"idle nodes have no bound by themselves":   {reason: idle, nodes: 50, want: math.MaxInt},
		"a tenth may be emptied at once":           {reason: underused, nodes: 41, want: 5, why: "nodes 10% without a budget"},
		"at least one":                             {reason: underused, nodes: 1, want: 1, why: "nodes 10% without a budget"},
		"a count":                                  {budgets: []v1alpha1.ReleaseBudget{count(3)}, reason: idle, nodes: 50, want: 3, why: "nodes 3"},
		"a share is rounded up":                    {budgets: []v1alpha1.ReleaseBudget{share("20%")}, reason: underused, nodes: 6, want: 2, why: "nodes 20%"},
		"the smallest counts":                      {budgets: []v1alpha1.ReleaseBudget{share("50%"), count(2)}, reason: idle, nodes: 50, want: 2, why: "nodes 2"},
		"one for another reason does not":          {budgets: []v1alpha1.ReleaseBudget{share("0%", idle)}, reason: underused, nodes: 30, want: 3, why: "nodes 10% without a budget"},
		"a window opens with its first second":     {budgets: []v1alpha1.ReleaseBudget{office}, reason: idle, nodes: 9, now: monday9, why: `nodes 0 at "0 9 * * mon-fri" for 8h0m0s`},
		"it is shut a moment before":               {budgets: []v1alpha1.ReleaseBudget{office}, reason: idle, nodes: 9, now: monday9.Add(-1), want: math.MaxInt},
		"it stays open until the duration is over": {budgets: []v1alpha1.ReleaseBudget{office}, reason: idle, nodes: 9, now: monday9.Add(8*time.Hour - 1), why: `nodes 0 at "0 9 * * mon-fri" for 8h0m0s`},
		"and no longer":                            {budgets: []v1alpha1.ReleaseBudget{office}, reason: idle, nodes: 9, now: monday9.Add(8 * time.Hour), want: math.MaxInt},
		"not on a Saturday":                        {budgets: []v1alpha1.ReleaseBudget{office}, reason: idle, nodes: 9, now: monday9.Add(5 * 24 * time.Hour), want: math.MaxInt},
		"UTC whatever the clock's zone is": {
			budgets: []v1alpha1.ReleaseBudget{office}, reason: idle, nodes: 9,
			now: monday9.In(time.FixedZone("", -7*3600)), why: `nodes 0 at "0 9 * * mon-fri" for 8h0m0s`,
		},
		"a day that never comes": {
			budgets: []v1alpha1.ReleaseBudget{window("0 0 31 2 *", time.Hour)}, reason: idle, nodes: 9, now: monday9, want: math.MaxInt,
		},
		"outside of its windows a budget for the reason leaves no other bound": {
			budgets: []v1alpha1.ReleaseBudget{office}, reason: underused, nodes: 9, now: monday9.Add(-1), want: math.MaxInt,
		},
		"what cannot be read lets none go": {
			budgets: []v1alpha1.ReleaseBudget{window("0 25 * * *", time.Hour)}, reason: idle, nodes: 9, now: monday9,
			why: `nodes 0: schedule "0 25 * * *": end of range (25) above maximum (23): 25`,
		},
		"nor does a time zone": {
			budgets: []v1alpha1.ReleaseBudget{window("TZ=UTC", time.Hour)}, reason: idle, nodes: 9, now: monday9,
			why: `nodes 0: schedule "TZ=UTC": times are UTC, no time zone can be given`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			limit, why := ReleaseLimit(&v1alpha1.ScaleDown{Budgets: c.budgets}, c.reason, c.nodes, c.now)
			require.Equal(t, c.want, limit)
			require.Equal(t, c.why, why)
		})
	}
}
