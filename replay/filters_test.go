package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func portOf(p *corev1.Pod, port int32) *corev1.Pod {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port}}
	return p
}

func appOf(p *corev1.Pod, app string) *corev1.Pod {
	p.Labels = map[string]string{"app": app}
	return p
}

func app(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

// spreadOf has the pods of an application be spread over a key.
func spreadOf(p *corev1.Pod, name, key string) *corev1.Pod {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: app(name),
	}}
	return appOf(p, name)
}

func termOf(name, key string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{LabelSelector: app(name), TopologyKey: key}}
}

func awayFrom(p *corev1.Pod, name string) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: termOf(name, corev1.LabelHostname)}}
	return p
}

func nearTo(p *corev1.Pod, name string) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: termOf(name, corev1.LabelHostname)}}
	return p
}

// onNode is a node with the label that a kubelet gives it.
func onNode(name, cpu, memory string) *corev1.Node {
	n := nodeNamed(name, cpu, memory)
	n.Labels = map[string]string{corev1.LabelHostname: name}
	return n
}

// overhear keeps which nodes the extender is offered, by pod.
func overhear(t *testing.T, w *World) map[string][][]string {
	heard := map[string][][]string{}
	inner := w.scheduler.client.handler
	w.scheduler.client.handler = func() http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			var args extenderv1.ExtenderArgs
			require.NoError(t, json.Unmarshal(body, &args))
			heard[args.Pod.Name] = append(heard[args.Pod.Name], *args.NodeNames)
			r.Body = io.NopCloser(bytes.NewReader(body))
			inner().ServeHTTP(rw, r)
		})
	}
	return heard
}

func nodeOfPod(w *World, name string) string {
	p := w.api.pods[w.api.podNames["default/"+name]]
	if p == nil {
		return ""
	}
	return p.Spec.NodeName
}

var noGrowth = []*v1alpha1.NodePool{poolOf("general", 0, shape("small", "4", "8Gi"))}

// TestTheExtenderIsOfferedWhatTheSchedulersFiltersLeave: findNodesThatFitPod calls extenders with the nodes that passed.
func TestTheExtenderIsOfferedWhatTheSchedulersFiltersLeave(t *testing.T) {
	for name, pods := range map[string][2]*corev1.Pod{
		"host ports":              {portOf(pod("first", "1", "1Gi"), 80), portOf(pod("second", "1", "1Gi"), 80)},
		"topology spread":         {spreadOf(pod("first", "1", "1Gi"), "web", corev1.LabelHostname), spreadOf(pod("second", "1", "1Gi"), "web", corev1.LabelHostname)},
		"anti-affinity":           {appOf(pod("first", "1", "1Gi"), "web"), awayFrom(pod("second", "1", "1Gi"), "web")},
		"another's anti-affinity": {awayFrom(pod("first", "1", "1Gi"), "web"), appOf(pod("second", "1", "1Gi"), "web")},
		"affinity, the other way": {appOf(pod("first", "1", "1Gi"), "web"), nearTo(pod("second", "1", "1Gi"), "web")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi"), onNode("b", "4", "8Gi")}},
				Arrival{Pod: pods[0], Runs: time.Hour}, Arrival{Pod: pods[1], Runs: time.Hour})
			heard := overhear(t, w)
			w.RunUntil(Zero.Add(time.Minute))
			first, second := nodeOfPod(w, "first"), nodeOfPod(w, "second")
			want := []string{"a", "b"}
			if name == "affinity, the other way" {
				require.Equal(t, first, second)
				want = []string{first}
			} else {
				require.NotEqual(t, first, second)
				want = slices.DeleteFunc(want, func(n string) bool { return n == first })
			}
			require.Equal(t, [][]string{{"a", "b"}}, heard["first"])
			require.Equal(t, [][]string{want}, heard["second"], "one attempt, although the first was not seen bound yet")
		})
	}
}

// TestNobodyIsAskedWhereNoNodePasses: without a node left no extender is called, and only what the plugin waits for brings
// the pod back: NodePorts waits for a pod that has the port to go, not for its own status, nor for any other pod's end.
func TestNobodyIsAskedWhereNoNodePasses(t *testing.T) {
	w := newWorld(t, Options{Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi")}},
		Arrival{Pod: portOf(pod("has-it", "1", "1Gi"), 80), Runs: 2 * time.Minute}, Arrival{Pod: pod("plain", "1", "1Gi"), Runs: time.Minute},
		Arrival{At: time.Second, Pod: portOf(pod("wants-it", "1", "1Gi"), 80), Runs: time.Minute})
	heard := overhear(t, w)
	w.RunUntil(Zero.Add(110 * time.Second))
	require.Empty(t, heard["wants-it"])
	require.Equal(t, 3, w.Summary().Scheduler.Attempts, "one each")
	c := conditionOf(w.api.pods[w.api.podNames["default/wants-it"]], corev1.PodScheduled)
	require.Equal(t, corev1.PodReasonUnschedulable, c.Reason)
	require.Equal(t, "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.", c.Message)
	w.RunUntil(Zero.Add(130 * time.Second))
	require.Equal(t, [][]string{{"a"}}, heard["wants-it"])
	require.Equal(t, "a", nodeOfPod(w, "wants-it"))
}

// A pod that the scheduler's own filters keep off all nodes gets a machine of its own: Muster hears of it by its condition.
func TestMachinesAreBoughtForPodsThatNoNodeLetsIn(t *testing.T) {
	for name, make := range map[string]func(i int) *corev1.Pod{
		"host ports": func(i int) *corev1.Pod { return portOf(pod(fmt.Sprint("p", i), "100m", "100Mi"), 443) },
		"spread": func(i int) *corev1.Pod {
			return spreadOf(pod(fmt.Sprint("p", i), "100m", "100Mi"), "web", corev1.LabelHostname)
		},
		"anti-affinity": func(i int) *corev1.Pod {
			return awayFrom(appOf(pod(fmt.Sprint("p", i), "100m", "100Mi"), "web"), "web")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var load []Arrival
			for i := range 4 {
				load = append(load, Arrival{Pod: make(i), Runs: 10 * time.Minute})
			}
			w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{poolOf("general", 9, shape("small", "4", "8Gi"))}}, load...)
			newWitness(w).run(t)
			s := w.Summary()
			require.Equal(t, 4, s.Pods.Finished)
			if name == "spread" {
				require.Positive(t, s.Machines.Bought) // one host is even: one machine may do for all
				return
			}
			require.Equal(t, 4, s.Machines.Bought)
			require.Zero(t, s.Machines.Wasted)
		})
	}
}

// A nominated pod is asked about at its node alone, and stands there for those that are not more important.
func TestNominatedPods(t *testing.T) {
	w := newWorld(t, Options{Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi"), onNode("b", "4", "8Gi")}})
	f := w.scheduler.filters
	w.RunUntil(Zero.Add(time.Second))
	promised := ofPriority(portOf(pod("promised", "1", "1Gi"), 80), 5)
	promised.UID, promised.Status.NominatedNodeName = "promised", "a"
	f.wait(promised, Zero)
	for priority, want := range map[int32][]string{4: {"b"}, 5: {"b"}, 6: {"a", "b"}} {
		other := ofPriority(portOf(pod("other", "1", "1Gi"), 80), priority)
		other.UID = "other"
		f.wait(other, Zero)
		passed, _, _ := f.pass(other, []string{"a", "b"})
		require.Equal(t, want, passed, "priority %d", priority)
	}
	passed, _, by := f.pass(promised, []string{"a", "b"})
	require.Equal(t, []string{"a", "b"}, passed, "it is not in its own way")
	require.Zero(t, by)
}

// TestRuledWorldsKeepTheRules: whatever comes and goes, no two pods with one host port share a node, and no pod stands
// beside one that it keeps away from. Who counts knows neither the scheduler nor the core.
func TestRuledWorldsKeepTheRules(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 23))
			w := newWorld(t, Options{
				Pools: []*v1alpha1.NodePool{poolOf("general", 12, shape("small", "4", "8Gi"))}, Tail: 2 * time.Hour, Exact: seed%2 == 1,
				Nodes: []*corev1.Node{onNode("a", "4", "8Gi"), onNode("b", "8", "16Gi")},
			}, ruledLoad(r)...)
			x := newWitness(w)
			for w.Step() {
				require.NoError(t, x.check(), "at %s", w.Now())
				require.NoError(t, together(w), "at %s", w.Now())
			}
			require.Equal(t, 60, w.Summary().Pods.Finished)
		})
	}
}

func ruledLoad(r *rand.Rand) []Arrival {
	var load []Arrival
	at := time.Duration(0)
	for i := range 60 {
		at += time.Duration(r.IntN(6000)) * time.Millisecond
		p := appOf(pod(fmt.Sprintf("p-%02d", i), fmt.Sprintf("%dm", 100+r.IntN(1500)), "200Mi"), fmt.Sprint("app", r.IntN(3)))
		switch r.IntN(5) {
		case 0:
			p = portOf(p, int32(8000+r.IntN(2)))
		case 1:
			p = awayFrom(p, fmt.Sprint("app", r.IntN(3)))
		case 2:
			p = spreadOf(p, p.Labels["app"], corev1.LabelHostname)
		}
		load = append(load, Arrival{At: at, Pod: p, Runs: time.Duration(20+r.IntN(200)) * time.Second})
	}
	return load
}

// together finds pods on one node that may not be there together.
func together(w *World) error {
	for node, on := range w.api.bound {
		ports, apps := map[int32]string{}, map[string]int{}
		var pods []*corev1.Pod
		for uid := range on {
			if p := w.api.pods[uid]; !finished(p) {
				pods = append(pods, p)
				apps[p.Labels["app"]]++
			}
		}
		for _, p := range pods {
			for _, port := range p.Spec.Containers[0].Ports {
				if other := ports[port.HostPort]; other != "" {
					return fmt.Errorf("%s and %s share port %d of %s", p.Name, other, port.HostPort, node)
				}
				ports[port.HostPort] = p.Name
			}
			if a := p.Spec.Affinity; a != nil {
				avoided := a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels["app"]
				others := apps[avoided]
				if avoided == p.Labels["app"] {
					others--
				}
				if others > 0 {
					return fmt.Errorf("%s is beside pods of %s on %s", p.Name, avoided, node)
				}
			}
		}
	}
	return nil
}
