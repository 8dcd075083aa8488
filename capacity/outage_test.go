package capacity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// Which nodes of ours count: those that are there and serve, and those that go because they were silent.
func TestM20WhichNodesCountForAnOutage(t *testing.T) {
	v := &capacity.View{Seen: map[string]time.Time{}, Silent: map[string]time.Time{}}
	add := func(name string, silent, there bool, change func(*v1alpha1.NodeClaim)) {
		c := object.Claim(name, name)
		if change != nil {
			change(c)
		}
		v.Claims = append(v.Claims, &capacity.Claim{Object: c, Node: &capacity.Node{Name: name}})
		if there {
			v.Seen[name] = object.Start
		}
		if silent {
			v.Silent[name] = object.Start
		}
	}
	released := func(reason string) func(*v1alpha1.NodeClaim) {
		return func(c *v1alpha1.NodeClaim) { c.Spec.Release = &v1alpha1.Release{Reason: reason} }
	}
	add("ready", false, true, nil)
	add("silent", true, true, nil)
	add("starts", true, true, func(c *v1alpha1.NodeClaim) { c.Status.State = v1alpha1.ClaimStarting })
	add("goes", true, true, released("Idle"))
	add("missing", true, false, nil)
	require.Equal(t, capacity.Outage{Of: 2}, v.Outage(time.Time{}))
	add("replaced", true, true, released(capacity.ReasonUnhealthy))
	require.Equal(t, capacity.Outage{Silent: []string{"replaced", "silent"}, Of: 3}, v.Outage(time.Time{}))
	require.Equal(t, object.Start.Add(capacity.OutageLasts), v.Outage(object.Start.Add(-time.Second)).Ends)
	require.False(t, v.Outage(object.Start).On(), "they have been silent for too long to count")
}
