package housekeeping_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/housekeeping"
)

type change = func(*v1alpha1.NodeClaim, *corev1.Node)

// restarted is a claim whose machine was restarted: asked for so long ago, and at this step since so long.
func restarted(asked time.Duration, step v1alpha1.RestartStep, at time.Duration) change {
	return func(c *v1alpha1.NodeClaim, _ *corev1.Node) {
		since := metav1.NewMicroTime(start.Add(-asked))
		c.Spec.Restart = &v1alpha1.Restart{Since: since}
		if step != "" {
			c.Status.Restart = &v1alpha1.RestartStatus{Since: since, Step: step, At: metav1.NewMicroTime(start.Add(-at))}
		}
	}
}

func TestASilentNodeIsRestartedBeforeItIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		build     func(*hospital)
		restarted []string
		replaced  []string
		verdict   housekeeping.Verdict // of p-000
	}{
		"silent for long enough":   {func(h *hospital) { h.node(0, 10*time.Minute) }, []string{"p-000"}, nil, housekeeping.Restarted},
		"silent for a moment less": {func(h *hospital) { h.node(0, 10*time.Minute-1) }, nil, nil, housekeeping.NotYet},
		"its pool does not ask":    {func(h *hospital) { h.pool.Spec.Repair = nil; h.node(0, time.Hour) }, nil, nil, housekeeping.NotAsked},
		"a strategy that is not set": {func(h *hospital) { h.pool.Spec.Repair.Strategy = ""; h.node(0, time.Hour) },
			[]string{"p-000"}, nil, housekeeping.Restarted},
		"asked for, and not taken up yet": {func(h *hospital) { h.node(0, 11*time.Minute, restarted(time.Minute, "", 0)) },
			nil, nil, housekeeping.UnderWay},
		"its power is off": {func(h *hospital) { h.node(0, 11*time.Minute, restarted(time.Minute, v1alpha1.RestartStarting, 0)) },
			nil, nil, housekeeping.UnderWay},
		"it boots": {func(h *hospital) {
			h.node(0, 20*time.Minute, restarted(10*time.Minute, v1alpha1.RestartBooting, 9*time.Minute))
		},
			nil, nil, housekeeping.UnderWay},
		"it did not help": {func(h *hospital) { h.node(0, 20*time.Minute, restarted(10*time.Minute, v1alpha1.RestartInVain, 0)) },
			nil, []string{"p-000"}, housekeeping.Replaced},
		"its provider cannot": {func(h *hospital) { h.node(0, 11*time.Minute, restarted(time.Minute, v1alpha1.RestartImpossible, 0)) },
			nil, []string{"p-000"}, housekeeping.Replaced},
		"it did not help, long ago": {func(h *hospital) { h.node(0, 5*time.Hour, restarted(4*time.Hour, v1alpha1.RestartInVain, 4*time.Hour)) },
			nil, []string{"p-000"}, housekeeping.Replaced},
		"it helped for less than an hour": {func(h *hospital) {
			h.node(0, 10*time.Minute, restarted(2*time.Hour, v1alpha1.RestartRecovered, time.Hour-time.Second))
		}, nil, []string{"p-000"}, housekeeping.Replaced},
		"it helped for an hour": {func(h *hospital) {
			h.node(0, 10*time.Minute, restarted(2*time.Hour, v1alpha1.RestartRecovered, time.Hour))
		}, []string{"p-000"}, nil, housekeeping.Restarted},
		"a pod is there that nobody is to disturb": {func(h *hospital) { h.node(0, time.Hour); h.pod("p-000", true) }, nil, nil, housekeeping.Guarded},
		"another pod is there":                     {func(h *hospital) { h.node(0, time.Hour); h.pod("p-000", false) }, []string{"p-000"}, nil, housekeeping.Restarted},
		"another node is being restarted": {func(h *hospital) {
			h.many(10, 1)
			h.node(10, time.Hour, restarted(time.Minute, v1alpha1.RestartStopping, time.Minute))
		}, nil, nil, housekeeping.InTurn},
		"another node is being replaced": {func(h *hospital) {
			h.many(10, 1)
			h.node(10, time.Hour, func(c *v1alpha1.NodeClaim, _ *corev1.Node) {
				c.Spec.Release, c.Status.State = &v1alpha1.Release{Reason: housekeeping.Unhealthy}, v1alpha1.ClaimReleasing
			})
		}, nil, nil, housekeeping.InTurn},
		"two of ten: the longest first":   {func(h *hospital) { h.many(10, 2) }, []string{"p-001"}, nil, housekeeping.InTurn},
		"more than a fifth of ten":        {func(h *hospital) { h.many(10, 3) }, nil, nil, housekeeping.Silence},
		"a third of the cluster":          {func(h *hospital) { h.many(6, 2) }, nil, nil, housekeeping.Silence},
		"its provider lists only in part": {func(h *hospital) { h.provider(metav1.ConditionFalse); h.node(0, time.Hour) }, nil, nil, housekeeping.NoAnswer},
		"its provider lists all it has":   {func(h *hospital) { h.provider(metav1.ConditionTrue); h.node(0, time.Hour) }, []string{"p-000"}, nil, housekeeping.Restarted},
		"it did not help, and an outage began": {func(h *hospital) {
			h.many(6, 2)
			h.node(0, time.Hour, restarted(time.Minute, v1alpha1.RestartInVain, 0))
		}, nil, nil, housekeeping.Silence},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHospital()
			h.pool.Spec.Repair.Strategy = v1alpha1.RepairByRestart
			c.build(h)
			r := housekeeping.Repair(h.live.View(), start)
			require.Equal(t, c.verdict, r.Reasons["p-000"])
			require.Equal(t, c.restarted, names(r.Restart))
			require.Equal(t, c.replaced, names(r.Replace))
		})
	}
}

func names(those []housekeeping.Replacement) (names []string) {
	for _, one := range those {
		names = append(names, one.Claim.Name)
	}
	return names
}

// pod puts a pod on a node, which nobody is to disturb or anybody may.
func (h *hospital) pod(node string, protected bool) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "d", UID: "w"}}
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	if protected {
		p.Annotations = map[string]string{v1alpha1.DoNotDisruptAnnotation: "true"}
	}
	h.live.SetPod(p, start)
}

// provider says how the last listing went.
func (h *hospital) provider(listed metav1.ConditionStatus) {
	p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}}
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: listed}}
	h.live.SetProvider(p)
}

// However nodes fall silent and whatever became of restarts: at most one of a pool is restarted or replaced at a time.
func TestRestartsAndReplacementsShareTheBudget(t *testing.T) {
	steps := []v1alpha1.RestartStep{"", v1alpha1.RestartStopping, v1alpha1.RestartBooting, v1alpha1.RestartInVain, v1alpha1.RestartRecovered}
	for nodes := 5; nodes <= 15; nodes++ {
		for silent := range 4 {
			for _, step := range steps {
				h := newHospital()
				h.pool.Spec.Repair.Strategy = v1alpha1.RepairByRestart
				h.many(nodes, silent)
				h.node(nodes, time.Hour, restarted(30*time.Minute, step, 10*time.Minute))
				r := housekeeping.Repair(h.live.View(), start)
				most := 1
				if step == "" || step == v1alpha1.RestartStopping || step == v1alpha1.RestartBooting {
					most = 0 // one is under way
				}
				require.LessOrEqual(t, len(r.Restart)+len(r.Replace), most, "%d of %d silent, %s", silent, nodes, step)
			}
		}
	}
}
