package gate_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/gate"
)

func TestAFreezeStopsWhatItNames(t *testing.T) {
	for name, c := range map[string]struct {
		data                   map[string]string
		releases, provisioning []string // of these pools: "" is a pool that is not known
	}{
		"no object, or one without keys":              {nil, nil, nil},
		"all releases":                                {map[string]string{"releases": "*"}, []string{"a", "b", ""}, nil},
		"releases of one pool, and of what may be it": {map[string]string{"releases": "a"}, []string{"a", ""}, nil},
		"releases of two":                             {map[string]string{"releases": "b, a"}, []string{"a", "b", ""}, nil},
		"provisioning alone":                          {map[string]string{"provisioning": "b"}, nil, []string{"b", ""}},
		"both":                                        {map[string]string{"releases": "*", "provisioning": "a"}, []string{"a", "b", ""}, []string{"a", ""}},
		"a reason is left over":                       {map[string]string{"reason": "inventory", "by": "alice", "since": "2026-03-01T08:00:00Z"}, nil, nil},
		"a pool's name ends with a line break from a file": {map[string]string{"releases": "a\n"}, []string{"a", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := gate.ParseFreeze(c.data)
			require.Empty(t, f.Unread())
			for _, pool := range []string{"a", "b", ""} {
				frozen, why := f.Releases(pool)
				require.Equal(t, contains(c.releases, pool), frozen, "releases of %q", pool)
				require.Equal(t, frozen, why != "")
				frozen, why = f.Provisioning(pool)
				require.Equal(t, contains(c.provisioning, pool), frozen, "provisioning of %q", pool)
				require.Equal(t, frozen, why != "")
			}
			require.Equal(t, len(c.releases)+len(c.provisioning) > 0, f.Any())
		})
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

func TestWhatCannotBeUnderstoodFreezesEverythingAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string]string
		why  string
	}{
		"an empty value: a shell variable was not set": {map[string]string{"releases": ""}, `data.releases "": use *, or names of pools`},
		"a comma too many":                                 {map[string]string{"releases": "a,,b"}, `data.releases "a,,b": use *, or names of pools`},
		"a star among names":                               {map[string]string{"releases": "a,*"}, `data.releases "a,*": use *, or names of pools`},
		"names separated by spaces":                        {map[string]string{"provisioning": "a b"}, `data.provisioning "a b": use *`},
		"upper case":                                       {map[string]string{"releases": "Pool-A"}, `data.releases "Pool-A": use *`},
		"a word that says yes is no pool":                  {map[string]string{"releases": "true"}, `data.releases "true": use *`},
		"nor is one that says no":                          {map[string]string{"provisioning": "false"}, `data.provisioning "false": use *`},
		"nor is all":                                       {map[string]string{"releases": "all"}, `data.releases "all": use *`},
		"a key with a wrong name":                          {map[string]string{"release": "*"}, `data.release: there is no such key; use releases, provisioning, reason, by or since`},
		"a key with a wrong name beside a good one":        {map[string]string{"Releases": "a", "provisioning": "b"}, `data.Releases: there is no such key`},
		"a time that is none, although all else is plain":  {map[string]string{"releases": "a", "since": "yesterday"}, `data.since "yesterday": use a time as in 2026-03-01T08:00:00Z`},
		"of two mistakes always the same one, by its text": {map[string]string{"x": "", "y": ""}, `data.x: there is no such key`},
	} {
		t.Run(name, func(t *testing.T) {
			f := gate.ParseFreeze(c.data)
			requireAllFrozen(t, f, "ConfigMap muster-freeze cannot be understood: "+c.why)
		})
	}
}

func requireAllFrozen(t *testing.T, f gate.Freeze, why string) {
	t.Helper()
	require.True(t, f.Any())
	require.NotEmpty(t, f.Unread())
	for _, pool := range []string{"a", "other", ""} {
		frozen, text := f.Releases(pool)
		require.True(t, frozen, pool)
		require.Contains(t, text, "releases are frozen: "+why)
		frozen, text = f.Provisioning(pool)
		require.True(t, frozen, pool)
		require.Contains(t, text, "provisioning is frozen: "+why)
	}
}

func TestAnObjectThatCannotBeReadCountsAsFrozen(t *testing.T) {
	requireAllFrozen(t, gate.FreezeUnknown(errors.New("dial tcp 10.0.0.1:6443: connection refused")),
		"ConfigMap muster-freeze cannot be read: dial tcp 10.0.0.1:6443: connection refused")
	requireAllFrozen(t, gate.FreezeUnknown(nil), "ConfigMap muster-freeze cannot be read: no answer")
}

func TestAFreezeSaysWhoSinceWhenAndWhy(t *testing.T) {
	f := gate.ParseFreeze(map[string]string{
		"releases": "general", "provisioning": "gpu", "by": "alice", "since": "2026-03-01T09:00:00+01:00", "reason": "switches of rack 3\nare replaced\x1b[31m",
	})
	_, why := f.Releases("general")
	require.Equal(t, "releases are frozen by alice since 2026-03-01T08:00:00Z: switches of rack 3 are replaced [31m", why)
	_, why = f.Provisioning("gpu")
	require.Equal(t, "provisioning is frozen by alice since 2026-03-01T08:00:00Z: switches of rack 3 are replaced [31m", why)
	require.Equal(t, []string{"general", "gpu"}, f.Pools())

	_, why = gate.ParseFreeze(map[string]string{"releases": "*"}).Releases("general")
	require.Equal(t, "releases are frozen", why)
	_, why = gate.ParseFreeze(map[string]string{"releases": "*", "reason": strings.Repeat("ä", 10_000)}).Releases("general")
	require.Less(t, utf8.RuneCountInString(why), 300, "an event takes 1,024 bytes")
}

func TestFreezesAreCompared(t *testing.T) {
	one := map[string]string{"releases": "a,b", "since": "2026-03-01T09:00:00+01:00"}
	require.True(t, gate.ParseFreeze(one).Equal(gate.ParseFreeze(map[string]string{"releases": "b , a,a", "since": "2026-03-01T08:00:00Z"})))
	for _, other := range []map[string]string{nil, {"releases": "a"}, {"releases": "a,b"}, {"releases": "a,b", "since": "2026-03-01T08:00:01Z"}, {"releases": ""}} {
		require.False(t, gate.ParseFreeze(one).Equal(gate.ParseFreeze(other)), "%v", other)
	}
}

// Whatever people write, either it is understood and stops exactly what it names, or it stops everything.
func FuzzParseFreeze(f *testing.F) {
	f.Add("releases", "*", "provisioning", "a,b")
	f.Add("releases", "", "reason", "inventory")
	f.Add("since", "2026-03-01T08:00:00Z", "by", "alice")
	f.Add("releases", "true", "x", "\x00\xff")
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 string) {
		data := map[string]string{key1: value1}
		data[key2] = value2
		got := gate.ParseFreeze(data)
		require.True(t, got.Equal(gate.ParseFreeze(data)))
		for key, frozen := range map[string]func(string) (bool, string){gate.FreezeReleases: got.Releases, gate.FreezeProvisioning: got.Provisioning} {
			value, asked := data[key]
			unknown, why := frozen("")
			require.Equal(t, asked || got.Unread() != "", unknown, "a key that is there freezes something")
			require.Equal(t, unknown, why != "")
			require.LessOrEqual(t, utf8.RuneCountInString(why), 900)
			require.True(t, utf8.ValidString(why))
			if other, _ := frozen("pool-that-has-no-name-in-any-corpus"); got.Unread() == "" {
				require.Equal(t, strings.TrimSpace(value) == gate.EveryPool || strings.Contains(value, "pool-that-has-no-name-in-any-corpus"), other)
			} else {
				require.True(t, other)
			}
		}
	})
}
