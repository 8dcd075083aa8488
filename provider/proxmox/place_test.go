package proxmox

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
)

const gib = 1 << 30

// three hosts: a is small and empty, b is large and half full, c is large, has most memory left and two machines of ours.
func threeHosts() []host {
	return []host{
		{Name: "a", Online: true, CPU: 8, Memory: 32 * gib, CommittedCPU: 0},
		{Name: "b", Online: true, CPU: 64, Memory: 128 * gib, CommittedCPU: 16, CommittedMemory: 110 * gib, Ours: 1},
		{Name: "c", Online: true, CPU: 32, Memory: 256 * gib, CommittedCPU: 16, CommittedMemory: 64 * gib, Ours: 2, OfPool: 1},
	}
}

func TestPlace(t *testing.T) {
	for name, c := range map[string]struct {
		placement v1alpha1.ProxmoxPlacement
		last      string
		change    func([]host)
		want      string
		fails     string
	}{
		"spread takes the host with the fewest of ours": {placement: v1alpha1.ProxmoxPlacement{Strategy: "spread"}, want: "a"},
		"maxMemory takes the most memory":               {placement: v1alpha1.ProxmoxPlacement{Strategy: "maxMemory"}, want: "c"},
		"maxCPU takes the most cpu":                     {placement: v1alpha1.ProxmoxPlacement{Strategy: "maxCPU"}, want: "b"},
		"balanced takes the largest share of both":      {placement: v1alpha1.ProxmoxPlacement{Strategy: "balanced"}, want: "a"},
		"packed takes the least that suffices":          {placement: v1alpha1.ProxmoxPlacement{Strategy: "packed"}, want: "b"},
		"roundRobin begins at the first":                {placement: v1alpha1.ProxmoxPlacement{Strategy: "roundRobin"}, want: "a"},
		"roundRobin goes on":                            {placement: v1alpha1.ProxmoxPlacement{Strategy: "roundRobin"}, last: "b", want: "c"},
		"roundRobin begins again":                       {placement: v1alpha1.ProxmoxPlacement{Strategy: "roundRobin"}, last: "c", want: "a"},
		"only the hosts that are allowed":               {placement: v1alpha1.ProxmoxPlacement{Strategy: "spread", Hosts: []string{"b", "c"}}, want: "b"},
		"not the hosts that are excluded":               {placement: v1alpha1.ProxmoxPlacement{Strategy: "spread", ExcludedHosts: []string{"a"}}, want: "b"},
		"not a host that is offline": {placement: v1alpha1.ProxmoxPlacement{Strategy: "spread"},
			change: func(h []host) { h[0].Online = false }, want: "b"},
		"pools apart where possible": {placement: v1alpha1.ProxmoxPlacement{Strategy: "maxMemory", AntiAffinity: "Preferred"}, want: "a"},
		"pools apart at any price": {placement: v1alpha1.ProxmoxPlacement{AntiAffinity: "Required"},
			change: func(h []host) { h[0].OfPool, h[1].OfPool = 1, 1 }, fails: "has a machine of this pool"},
		"what must stay free": {placement: v1alpha1.ProxmoxPlacement{Strategy: "packed",
			MinFree: corev1.ResourceList{"memory": resource.MustParse("20Gi")}}, want: "a"},
		"overcommit makes room": {placement: v1alpha1.ProxmoxPlacement{Hosts: []string{"b"}, Overcommit: corev1.ResourceList{"cpu": resource.MustParse("4")}},
			change: func(h []host) { h[1].CommittedCPU = 64 }, want: "b"},
		"no room without overcommit": {placement: v1alpha1.ProxmoxPlacement{Hosts: []string{"b"}},
			change: func(h []host) { h[1].CommittedCPU = 64 }, fails: "b: 0 cores left of 4 needed"},
		"one VM has no more cores than its host": {placement: v1alpha1.ProxmoxPlacement{Hosts: []string{"a"},
			Overcommit: corev1.ResourceList{"cpu": resource.MustParse("100")}}, change: func(h []host) { h[0].CPU = 2 }, fails: "one VM may not have 4"},
		"memory that is in use counts though nobody committed it": {placement: v1alpha1.ProxmoxPlacement{Hosts: []string{"a"}},
			change: func(h []host) { h[0].Used = 30 * gib }, fails: "a: 2048 MiB left of 8192 needed"},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := threeHosts()
			if c.change != nil {
				c.change(hosts)
			}
			got, err := place(hosts, want{CPU: 4, Memory: 8 * gib}, &c.placement, c.last)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestTheOrderOfHostsMeansNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, strategy := range []v1alpha1.PlacementStrategy{"spread", "maxMemory", "maxCPU", "balanced", "roundRobin", "packed"} {
		p := &v1alpha1.ProxmoxPlacement{Strategy: strategy}
		first, err := place(threeHosts(), want{CPU: 1, Memory: gib}, p, "")
		require.NoError(t, err)
		for range 20 {
			hosts := threeHosts()
			r.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
			again, err := place(hosts, want{CPU: 1, Memory: gib}, p, "")
			require.NoError(t, err)
			require.Equal(t, first, again)
		}
	}
}
