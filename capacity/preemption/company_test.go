package preemption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/preemption"
)

func hostPort(port int32) podEdit {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
	}
}

// awayFrom keeps a pod off nodes with pods labelled so.
func awayFrom(value string) podEdit {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}, TopologyKey: corev1.LabelHostname,
			}},
		}}
	}
}

func nearTo(value string) podEdit {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}, TopologyKey: corev1.LabelHostname,
			}},
		}}
	}
}

// Room is not all that a pod may lack: whoever stands in the way has to leave, and nobody else.
func TestPodsThatStandInTheWayForOtherReasons(t *testing.T) {
	for name, c := range map[string]struct {
		setup func(*cluster)
		edits []podEdit
		want  []string
	}{
		"the holder of a host port": {func(c *cluster) {
			c.nodes(9000, "a")
			c.pods(pod("holder", 5, 1000, on("a"), hostPort(80)), pod("other", 1, 1000, on("a"), hostPort(81)))
		}, []podEdit{hostPort(80)}, []string{"important to a: holder"}},
		"nobody, when a more important pod has the port": {func(c *cluster) {
			c.nodes(9000, "a")
			c.pods(pod("holder", 500, 1000, on("a"), hostPort(80)), pod("other", 1, 1000, on("a")))
		}, []podEdit{hostPort(80)}, nil},
		"a pod that it keeps away from": {func(c *cluster) {
			c.nodes(9000, "a")
			c.pods(pod("rival", 5, 1000, on("a"), labelled("rival")), pod("other", 1, 1000, on("a")))
		}, []podEdit{awayFrom("rival")}, []string{"important to a: rival"}},
		"a pod that keeps away from it": {func(c *cluster) {
			c.nodes(9000, "a")
			c.pods(pod("shy", 5, 1000, on("a"), awayFrom("important")), pod("other", 1, 1000, on("a")))
		}, []podEdit{labelled("important")}, []string{"important to a: shy"}},
		"nobody that it wants to be near": {func(c *cluster) {
			c.nodes(5000, "a", "b")
			c.pods(pod("friend", 1, 2000, on("a"), labelled("friend"), startedAt(9)), pod("other", 1, 3000, on("a"), startedAt(1)),
				pod("alone", 0, 5000, on("b")))
		}, []podEdit{nearTo("friend")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t)
			c.setup(cl)
			cl.wants(pod("important", 100, 4000, c.edits...))
			require.Equal(t, c.want, moves(cl.decide()))
		})
	}
}

// The scheduler's own filters refuse the node, and it is known why: somebody who can be evicted has the port.
func TestARefusalThatAnEvictionCuresIsNoObstacle(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(9000, "a")
	cl.pods(pod("holder", 5, 1000, on("a"), hostPort(80)))
	cl.wants(pod("important", 100, 4000, hostPort(80)))
	v := cl.View()
	v.Shortfalls[0].Refused, v.Shortfalls[0].Called = sets.New("a"), start.Add(time.Minute)
	require.Equal(t, []string{"important to a: holder"}, moves(preemption.Decide(v, asks(v), 100, start)))
}

// A pod on its way to a machine of its own is somewhere already for those that are not more important: nobody is evicted for a
// pod that could not stand beside it.
func TestWhoHasRoomOfItsOwnIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		twin     int32 // its priority
		state    v1alpha1.ClaimState
		topology string
		want     []string
	}{
		"one as important, on a node that is there":   {twin: 100, state: v1alpha1.ClaimReady, topology: corev1.LabelHostname},
		"one as important, on a machine in flight":    {twin: 100, state: v1alpha1.ClaimLaunching, topology: corev1.LabelTopologyZone},
		"one less important gives way":                {twin: 99, state: v1alpha1.ClaimReady, topology: corev1.LabelHostname, want: []string{"important to a: low"}},
		"one less important, on a machine in flight":  {twin: 99, state: v1alpha1.ClaimLaunching, topology: corev1.LabelTopologyZone, want: []string{"important to a: low"}},
		"one on a machine in flight, but not so near": {twin: 100, state: v1alpha1.ClaimLaunching, topology: corev1.LabelHostname, want: []string{"important to a: low"}},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t)
			a := node("a", 7000)
			a.Labels[corev1.LabelTopologyZone] = "z"
			cl.SetNode(a, start)
			claim := &v1alpha1.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "m"},
				Spec: v1alpha1.NodeClaimSpec{
					Pool: "p", Labels: map[string]string{corev1.LabelTopologyZone: "z"},
					Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7"), corev1.ResourceMemory: resource.MustParse("1Gi")},
					Reserved:  []v1alpha1.PodReference{{Namespace: "default", Name: "twin", UID: "twin"}},
				},
				Status: v1alpha1.NodeClaimStatus{State: c.state},
			}
			if c.state == v1alpha1.ClaimReady {
				claim.Status.NodeName = "a"
			}
			cl.SetClaim(claim)
			cl.pods(pod("low", 1, 4000, on("a")), pod("twin", c.twin, 500, labelled("twin")))
			cl.wants(pod("important", 100, 4000, awayFrom("twin"), func(p *corev1.Pod) {
				p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = c.topology
			}))
			require.Equal(t, c.want, moves(cl.decide()))
		})
	}
}
