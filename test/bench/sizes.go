package bench

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// distributions of what pods ask for that demand nothing of others.
var distributions = []struct {
	name string
	of   func(*maker) func() (milliCPU, mebibytes int64)
}{
	{"usual", func(m *maker) func() (int64, int64) { return m.usual }},
	{"small", func(m *maker) func() (int64, int64) { return m.between(10, 150, 16, 256) }},
	{"large", func(m *maker) func() (int64, int64) { return m.between(1000, 16_000, 2048, 32_768) }},
	{"cores", func(m *maker) func() (int64, int64) { return m.between(500, 4000, 64, 2048) }},
	{"memory", func(m *maker) func() (int64, int64) { return m.between(50, 500, 1024, 8192) }},
	{"tailed", (*maker).tailed},
	{"few", (*maker).few},
}

// resourcesOnly is pods with sizes of a distribution and no demand beside room.
func resourcesOnly(seed uint64, n, distribution int) []*corev1.Pod {
	m := newMaker(seed)
	m.size = distributions[distribution].of(m)
	return m.plain(n)
}

// between takes every size between two for equally likely.
func (m *maker) between(cpu, mostCPU, memory, mostMemory int64) func() (milliCPU, mebibytes int64) {
	return func() (int64, int64) { return cpu + m.Int64N(mostCPU-cpu), memory + m.Int64N(mostMemory-memory) }
}

// tailed is many small pods and few large ones: both sizes log-normal, independent of each other.
func (m *maker) tailed() func() (milliCPU, mebibytes int64) {
	draw := func(median, sigma float64, most int64) int64 {
		return min(most, 1+int64(median*math.Exp(sigma*m.NormFloat64())))
	}
	return func() (int64, int64) { return draw(250, 1, 32_000), draw(512, 1.2, 65_536) }
}

// few is a dozen workloads, each with one size and half as many pods as the one before.
func (m *maker) few() func() (milliCPU, mebibytes int64) {
	var sizes [12][2]int64
	for i := range sizes {
		sizes[i] = [2]int64{50 * (1 + m.Int64N(80)), 64 * (1 + m.Int64N(128))}
	}
	return func() (int64, int64) {
		i := 0
		for i < len(sizes)-1 && m.IntN(2) == 0 {
			i++
		}
		return sizes[i][0], sizes[i][1]
	}
}
