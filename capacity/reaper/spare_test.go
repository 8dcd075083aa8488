package reaper_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/capacity/reaper"
)

func TestSpareNodesStay(t *testing.T) {
	for name, c := range map[string]struct {
		spare     string
		idle      int
		used      int
		waits     string // cpu of a pod that waits
		released  int
		otherwise reaper.Reason
	}{
		"two of three idle ones stay":                {spare: "2", idle: 3, released: 1, otherwise: reaper.Spare},
		"all that are wanted stay":                   {spare: "3", idle: 3, otherwise: reaper.Spare},
		"none is wanted":                             {spare: "0", idle: 3, released: 3},
		"a share of those with pods":                 {spare: "50%", idle: 4, used: 3, released: 2, otherwise: reaper.Spare},
		"a pod waits, and the pool can grow":         {spare: "3", idle: 3, waits: "64", otherwise: reaper.Spare},
		"a pod waits, and the pool can grow no more": {spare: "10", idle: 10, waits: "64", released: 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0)
			w.pool.Spec.Spare = new(intstr.Parse(c.spare))
			w.live.SetPool(w.pool)
			for i := range c.idle + c.used {
				w.node(i)
				if i >= c.idle {
					w.live.SetPod(pod(fmt.Sprint("pod-", i), w.nodes[i].Name), start)
				}
			}
			if c.waits != "" {
				w.live.SetPod(waiting("big", c.waits), start)
			}
			d := w.decide(time.Minute)
			require.Len(t, d.Release, c.released)
			for i := range c.idle {
				name := w.nodes[i].Name
				gone := slices.ContainsFunc(d.Release, func(r reaper.Release) bool { return r.Claim.Name == name })
				if !gone {
					require.Equal(t, c.otherwise, d.Reasons[name])
				}
			}
		})
	}
}
