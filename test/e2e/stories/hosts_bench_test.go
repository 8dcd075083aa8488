package stories

import (
	"testing"
	"time"

	"github.com/muster-sh/muster/test/e2e/stage"
)

// BenchmarkThousandHosts measures what `muster serve` has resident while it keeps a thousand hosts, each behind a BMC of its own,
// with a connection to each of them.
func BenchmarkThousandHosts(b *testing.B) {
	const hosts = 1000
	for b.Loop() {
		s := stage.NewUnwatched(b, kit)
		replica := s.Place(stage.ReplicaOptions{})
		before, _ := replica.Muster.Memory()
		m := newMetal(s, hosts, nil)
		took := s.Await(20*time.Minute, "every host to have been looked at", func() error {
			seen := 0
			for _, status := range m.hosts() {
				if status.Power != "" {
					seen++
				}
			}
			return atLeast(hosts, seen)
		})
		now, most := replica.Muster.Memory()
		b.ReportMetric(float64(before)/(1<<20), "MiB-before")
		b.ReportMetric(float64(now)/(1<<20), "MiB")
		b.ReportMetric(float64(most)/(1<<20), "MiB-most")
		b.ReportMetric(took.Seconds(), "s-to-see-all")
	}
}
