package speed

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// generated is a trace of so many pods in so many days: jobs of a median time in seconds, and one in ten that stays 12 to 72
// times as long; four times as many come at noon as at midnight. It is written as it is made, whatever its length.
func generated(w io.Writer, pods, days int, median float64, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a load, not a secret
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "arrival_s,duration_s,cpu_milli,memory_mib,name")
	mean := float64(days) * 86400 / float64(pods) // seconds between two pods; the rate below is 2.5 on average
	at := 0.0
	for n := range pods {
		hour := math.Mod(at/3600, 24)
		rate := 1 + 3*(1-math.Cos(2*math.Pi*hour/24))/2
		at += rng.ExpFloat64() * mean * 2.5 / rate
		lasts := median * math.Exp(rng.NormFloat64())
		if rng.IntN(10) == 0 {
			lasts = median * (12 + 60*rng.Float64())
		}
		cpu := []int{250, 500, 1000, 2000, 4000}[rng.IntN(5)]
		fmt.Fprintf(out, "%.3f,%.3f,%d,%d,p-%d\n", at, lasts, cpu, cpu*(1+rng.IntN(4)), n)
	}
	return out.Flush()
}
