package gate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/gate"
)

func TestFreezingAndThawing(t *testing.T) {
	releases, provisioning := []string{gate.FreezeReleases}, []string{gate.FreezeProvisioning}
	both := []string{gate.FreezeReleases, gate.FreezeProvisioning}
	since := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	note := gate.Note{By: "bob", Reason: "fire", Since: since}
	freeze := func(keys []string, pools ...string) func(gate.Freeze) gate.Freeze {
		return func(f gate.Freeze) gate.Freeze { return f.Freezing(keys, pools, note) }
	}
	thaw := func(keys []string, pools ...string) func(gate.Freeze) gate.Freeze {
		return func(f gate.Freeze) gate.Freeze { return f.Thawing(keys, pools, []string{"c", "a", "b"}) }
	}
	type data = map[string]string
	noted := func(d data) data {
		d["by"], d["reason"], d["since"] = "bob", "fire", "2026-03-01T08:00:00Z"
		return d
	}
	for name, c := range map[string]struct {
		before data
		change func(gate.Freeze) gate.Freeze
		want   data
	}{
		"all releases":                             {nil, freeze(releases), noted(data{"releases": "*"})},
		"releases of two pools":                    {nil, freeze(releases, "b", "a"), noted(data{"releases": "a,b"})},
		"both of one pool":                         {nil, freeze(both, "a"), noted(data{"releases": "a", "provisioning": "a"})},
		"one pool more":                            {data{"releases": "b"}, freeze(releases, "a", "b"), noted(data{"releases": "a,b"})},
		"one pool of all":                          {data{"releases": "*"}, freeze(releases, "a"), noted(data{"releases": "*"})},
		"provisioning beside releases":             {data{"releases": "b"}, freeze(provisioning), noted(data{"releases": "b", "provisioning": "*"})},
		"what was said before is kept":             {data{"releases": "b", "by": "alice", "reason": "rack 3"}, freeze(releases, "a"), data{"releases": "a,b", "by": "bob", "reason": "fire (before, by alice: rack 3)", "since": "2026-03-01T08:00:00Z"}},
		"what is over is not":                      {data{"by": "alice", "reason": "rack 3"}, freeze(releases), noted(data{"releases": "*"})},
		"thaw all":                                 {data{"releases": "*", "provisioning": "b", "by": "alice", "reason": "rack 3"}, thaw(both), data{}},
		"thaw what cannot be understood":           {data{"releases": "true"}, thaw(both), data{}},
		"thaw releases":                            {data{"releases": "*", "provisioning": "b", "by": "alice"}, thaw(releases), data{"provisioning": "b", "by": "alice"}},
		"thaw the last thing that is frozen":       {data{"releases": "a", "by": "alice", "reason": "rack 3"}, thaw(releases, "a"), data{}},
		"thaw one pool of two":                     {data{"releases": "a,b", "by": "alice"}, thaw(both, "a"), data{"releases": "b", "by": "alice"}},
		"thaw one pool of all: the others by name": {data{"releases": "*", "by": "alice"}, thaw(both, "b"), data{"releases": "a,c", "by": "alice"}},
		"thaw what is not frozen":                  {data{"releases": "a"}, thaw(provisioning), data{"releases": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := gate.ParseFreeze(c.before)
			got := c.change(before)
			require.Equal(t, c.want, got.Data())
			require.True(t, gate.ParseFreeze(got.Data()).Equal(got), "it reads as it was written")
			require.True(t, before.Equal(gate.ParseFreeze(c.before)), "the old one stays as it was")
		})
	}
}

// A part of what cannot be understood cannot be thawed: nobody knows what the rest would be.
func TestAPartOfAFreezeThatCannotBeUnderstoodStaysFrozen(t *testing.T) {
	f := gate.ParseFreeze(map[string]string{"releases": "true"})
	for _, g := range []gate.Freeze{
		f.Thawing([]string{gate.FreezeReleases}, nil, []string{"a"}),
		f.Thawing([]string{gate.FreezeReleases, gate.FreezeProvisioning}, []string{"a"}, []string{"a"}),
	} {
		frozen, _ := g.Releases("a")
		require.True(t, frozen)
	}
}

func FuzzFreezeDataIsReadAsItWasWritten(f *testing.F) {
	f.Add("a,b", "*", "fire", "alice")
	f.Fuzz(func(t *testing.T, releases, provisioning, reason, by string) {
		got := gate.ParseFreeze(map[string]string{"releases": releases, "provisioning": provisioning, "reason": reason, "by": by})
		if got.Unread() == "" {
			require.True(t, gate.ParseFreeze(got.Data()).Equal(got))
		}
	})
}
