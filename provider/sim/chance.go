package sim

import (
	"fmt"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// fate is what is in store for the machine of one attempt. It depends on its arguments only, not on the order of calls.
type fate struct {
	refused, lost, neverJoins bool
	boot                      time.Duration
}

func (c Config) fate(claim types.UID, attempt int32) fate {
	share := func(what string) float64 {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d/%s/%d/%s", c.Seed, claim, attempt, what)
		return float64(mix(h.Sum64())>>11) / (1 << 53)
	}
	return fate{
		refused:    share("refused")*100 < float64(c.FailCreate),
		lost:       share("lost")*100 < float64(c.Lose),
		neverJoins: share("never joins")*100 < float64(c.NeverJoin),
		boot:       c.boot(share("boot")),
	}
}

// boot maps a share to a boot time: half of the machines take less than the median, and most are near it.
func (c Config) boot(share float64) time.Duration {
	if share < 0.5 {
		below := 1 - 2*share
		return c.BootMedian - time.Duration(float64(c.BootMedian-c.BootMin)*below*below)
	}
	above := 2*share - 1
	return c.BootMedian + time.Duration(float64(c.BootMax-c.BootMedian)*above*above*above)
}

// mix spreads the bits of a hash (the finalizer of splitmix64): FNV alone leaves neighbours close together.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
