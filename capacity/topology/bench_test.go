package topology

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// benchCluster has 5,000 nodes in three zones with 50,000 pods of 500 applications, each with rules of its own.
func benchCluster(b *testing.B, p *corev1.Pod) (*Kind, []*Site) {
	b.Helper()
	subjects := make([]Subject, 500)
	for i := range subjects {
		name := fmt.Sprintf("app%d", i)
		subjects[i] = subjectOf(app(name, apart(host, of(name)), spreading(zone, 5, of(name))))
	}
	sites := make([]*Site, 5000)
	c := NewCluster(nil, func(yield func(*Site, Subject) bool) {
		for i := range 50_000 {
			if !yield(sites[i%5000], subjects[i*7%500]) {
				return
			}
		}
	})
	for i := range sites {
		sites[i] = c.Add(makeNode(fmt.Sprintf("node%d", i), string(rune('a'+i%3))))
	}
	own := subjectOf(p)
	c.Expect(own.Rules)
	return c.Kind(own), sites
}

func benchPod() *corev1.Pod {
	return app("app1", spreading(zone, 1, of("app1")), spreading(host, 1, of("app1")), near(zone, of("app1")), apart(host, of("app1")))
}

func BenchmarkJudge(b *testing.B) {
	k, sites := benchCluster(b, benchPod())
	b.ResetTimer()
	for i := range b.N {
		k.Judge(sites[i%len(sites)])
	}
}

func BenchmarkPutAndTake(b *testing.B) {
	k, sites := benchCluster(b, benchPod())
	b.ResetTimer()
	for i := range b.N {
		k.Put(sites[i%len(sites)], 1)
		k.Put(sites[i%len(sites)], -1)
	}
}

// The first kind pays for the census of all pods.
func BenchmarkFirstKind(b *testing.B) {
	p := benchPod()
	for range b.N {
		benchCluster(b, p)
	}
}
