package capacity

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// fleet is a cluster in which every node of 16 cores carries ten pods, two of them of DaemonSets, and is three quarters
// full. One in ten nodes is tainted. Pods come in 100 sizes.
func fleet(nodes int) (l *Live, names []string) {
	l = makeLive()
	for d := range 2 {
		l.SetDaemonSet(object.DaemonSet(fmt.Sprintf("agent-%d", d), "cpu", "100m", "memory", "128Mi"))
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		n := fleetNode(name, i)
		l.SetNode(n, object.Start)
		names = append(names, name)
		for j := range 10 {
			l.SetPod(fleetPod(i, j, name), object.Start)
		}
	}
	return l, names
}

func fleetNode(name string, i int) *corev1.Node {
	n := object.Node(name, "cpu", "16", "memory", "64Gi", "ephemeral-storage", "100Gi", "hugepages-1Gi", "0", "hugepages-2Mi", "0")
	for k := range 12 {
		n.Labels[fmt.Sprintf("example.com/label-%02d", k)] = fmt.Sprintf("value-%d", i%7)
	}
	n.Spec.ProviderID = "sim://" + name
	if i%10 == 9 {
		n = object.Tainted(n, "dedicated", corev1.TaintEffectNoSchedule)
	}
	return n
}

func fleetPod(i, j int, node string) *corev1.Pod {
	size := (i*10 + j) % 100
	p := object.Pod(fmt.Sprintf("app-%05d-%d", i, j), "cpu", fmt.Sprintf("%dm", 1000+10*size), "memory", fmt.Sprintf("%dMi", 2048+16*size))
	p.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", i, j))
	switch {
	case j < 2:
		p = object.Owned(object.Pod(fmt.Sprintf("agent-%d-%05d", j, i), "cpu", "100m", "memory", "128Mi"), "DaemonSet", fmt.Sprintf("agent-%d", j))
		p.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", i, j))
	default:
		p = object.Owned(p, "ReplicaSet", fmt.Sprintf("00000000-0000-4000-9000-%012d", i*j%500))
	}
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	p.Spec.Tolerations = []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
	}
	return p
}

func benchSizes(b *testing.B, run func(b *testing.B, l *Live, names []string)) {
	for _, nodes := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			l, names := fleet(nodes)
			b.ReportAllocs()
			b.ResetTimer()
			run(b, l, names)
		})
	}
}

func asking(i int, cpu string) *corev1.Pod {
	p := fleetPod(900_000+i%1000, 5, "")
	p.Spec.Containers = []corev1.Container{object.Container("main", "cpu", cpu, "memory", "1Gi")}
	return object.Owned(p, "ReplicaSet", "burst")
}

func call(b *testing.B, l *Live, number int, p *corev1.Pod, names []string) Placement {
	answer, err := l.Place(context.Background(), Call{Number: uint64(number), Pod: l.Compile(p), Nodes: names, Now: object.Start})
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

// BenchmarkPlaceFits is a pod that gets a node, and its hold taken back by the next call.
func BenchmarkPlaceFits(b *testing.B) {
	benchSizes(b, func(b *testing.B, l *Live, names []string) {
		p := asking(0, "500m")
		for i := 0; b.Loop(); i++ {
			if call(b, l, i+1, p, names).Node == "" {
				b.Fatal("refused")
			}
		}
	})
}

// BenchmarkPlaceRefuses judges every node anew, as after any change of a node.
func BenchmarkPlaceRefuses(b *testing.B) {
	benchSizes(b, func(b *testing.B, l *Live, names []string) {
		p := asking(0, "15")
		for i := 0; b.Loop(); i++ {
			l.answers++
			if call(b, l, i+1, p, names).Node != "" {
				b.Fatal("placed")
			}
		}
	})
}

// BenchmarkPlaceRefusesAgain answers for the twin of a pod that was refused, with nothing changed since.
func BenchmarkPlaceRefusesAgain(b *testing.B) {
	benchSizes(b, func(b *testing.B, l *Live, names []string) {
		for i := 0; b.Loop(); i++ {
			if call(b, l, i+1, asking(i, "15"), names).Node != "" {
				b.Fatal("placed")
			}
		}
	})
}

func BenchmarkSetPod(b *testing.B) {
	benchSizes(b, func(b *testing.B, l *Live, names []string) {
		var versions [2]*corev1.Pod
		for i := range versions {
			versions[i] = fleetPod(7, 5, names[i])
			versions[i].Generation = 1
		}
		for i := 0; b.Loop(); i++ {
			l.SetPod(versions[i%2], object.Start)
		}
	})
}

func BenchmarkSetClaim(b *testing.B) {
	benchSizes(b, func(b *testing.B, l *Live, names []string) {
		for i, name := range names {
			c := object.Claim(fmt.Sprintf("pool-%03d", i), name)
			c.Status.ProviderID = "sim://" + name
			l.SetClaim(c)
		}
		c := [2]*v1alpha1.NodeClaim{object.Claim("pool-007", names[7]), object.Claim("pool-007", names[7])}
		for i := 0; b.Loop(); i++ {
			l.SetClaim(c[i%2])
		}
	})
}

// BenchmarkView changes a hundred nodes between Views, as a busy second does.
func BenchmarkView(b *testing.B) {
	benchSizes(b, func(b *testing.B, l *Live, names []string) {
		for i := 0; b.Loop(); i++ {
			for k := range 100 {
				p := fleetPod(900_000+k, 5, names[(i*100+k)%len(names)])
				l.SetPod(p, object.Start)
			}
			if len(l.View().Nodes) != len(names) {
				b.Fatal("a node is missing")
			}
		}
	})
}

// BenchmarkMemory reports the live heap of a Live that holds nodes and ten times as many pods.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l, _ := fleet(5000)
		l.View()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(l)
	}
}

func BenchmarkNewAsk(b *testing.B) {
	p := fleetPod(7, 5, "")
	b.ReportAllocs()
	for b.Loop() {
		NewAsk(p)
	}
}
