package extender_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/extender"
)

func TestEveryCallIsObserved(t *testing.T) {
	for _, c := range []struct {
		name, path string
		body       any
		want       extender.Observation
	}{
		{"a node is found", "/place/filter", named(workload("web", "1", "1Gi"), smallNames...),
			extender.Observation{Verb: "place/filter", Pod: "uid-web", Offered: 4, Passed: 1, Node: "open"}},
		{"no node is found", "/place/filter", named(workload("big", "9", "1Gi"), smallNames...),
			extender.Observation{Verb: "place/filter", Pod: "uid-big", Offered: 4, Refused: map[string]int{
				"node(s) are being released": 1, "node(s) are still starting": 1,
				"Insufficient cpu": 2,
			}}},
		{"a veto", "/guard/filter", named(workload("web", "1", "1Gi"), "open", "leaving"),
			extender.Observation{Verb: "guard/filter", Pod: "uid-web", Offered: 2, Passed: 1, Refused: map[string]int{
				"node(s) are being released": 1,
			}}},
		{"scores", "/guard/prioritize", named(workload("web", "1", "1Gi"), "open", "full"),
			extender.Observation{Verb: "guard/prioritize", Pod: "uid-web", Offered: 2, Passed: 2}},
		{"a bad body", "/place/filter", "rubbish", extender.Observation{Verb: "place/filter", Error: "bad_request"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []extender.Observation
			cfg := config(smallWorld())
			cfg.Observe = func(o extender.Observation) { seen = append(seen, o) }
			post(extender.New(cfg), c.path, encode(t, c.body))
			require.Len(t, seen, 1)
			require.NotZero(t, seen[0].Number)
			c.want.Number = seen[0].Number
			require.Equal(t, c.want, seen[0])
		})
	}
}

func TestARefusedCallIsObserved(t *testing.T) {
	var seen []extender.Observation
	cfg := config(smallWorld())
	cfg.Ready = func() error { return errors.New("caches are cold") }
	cfg.Observe = func(o extender.Observation) { seen = append(seen, o) }
	post(extender.New(cfg), "/place/filter", encode(t, named(workload("web", "1", "1Gi"), smallNames...)))
	require.Len(t, seen, 1)
	require.Equal(t, "not_ready", seen[0].Error)
	require.Equal(t, types.UID(""), seen[0].Pod, "nobody read the body")
}
