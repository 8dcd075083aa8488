package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/wol"
)

const metal = "apiVersion: muster.sh/v1alpha1\nkind: Provider\nmetadata: {name: metal}\nspec: {type: redfish}\n"

// withHosts is a pool of a provider with a selector of hosts.
func withHosts(provider, selector string) string {
	pool := strings.Replace(goodPool, "provider: sim", "provider: "+provider, 1)
	return strings.Replace(pool, "  template:\n", "  template:\n    hosts: "+selector+"\n", 1)
}

func TestAPoolPicksHostsByLabel(t *testing.T) {
	got, err := poolsFrom(metal, withHosts("metal", "{matchLabels: {gen: g9}, matchExpressions: [{key: example.org/hall, operator: NotIn, values: [north]}]}"))
	require.NoError(t, err)
	s, err := got.Pools[0].Spec.Template.Hosts.Selector()
	require.NoError(t, err)
	require.Equal(t, "example.org/hall notin (north),gen=g9", s.String())
}

func TestSelectorsOfHostsThatCannotBeMeant(t *testing.T) {
	for name, c := range map[string]struct{ provider, selector, want string }{
		"of a pool without hosts":     {"sim", "{matchLabels: {gen: g9}}", "powers no Hosts"},
		"that requires nothing":       {"metal", "{}", "leave it out"},
		"with an empty map of labels": {"metal", "{matchLabels: {}}", "at least 1"},
		"with a key that is no name":  {"metal", "{matchLabels: {'a b': x}}", "qualified name"},
		"with a value that is none":   {"metal", "{matchLabels: {a: 'x y'}}", "that matches"},
		"with an unknown operator":    {"metal", "{matchExpressions: [{key: a, operator: Near}]}", "Unsupported value"},
		"In without values":           {"metal", "{matchExpressions: [{key: a, operator: In}]}", "need values"},
		"Exists with values":          {"metal", "{matchExpressions: [{key: a, operator: Exists, values: [x]}]}", "take none"},
	} {
		_, err := poolsFrom(metal, goodProvider, withHosts(c.provider, c.selector))
		require.ErrorContains(t, err, c.want, name)
	}
}

func metalWith(hosts string) string {
	return "apiVersion: muster.sh/v1alpha1\nkind: Provider\nmetadata: {name: metal}\nspec: {type: wol, hosts: " + hosts + "}\n"
}

// What the API server fills in is what holds where a Provider says nothing.
func TestRulesOfHostsHaveTheDefaultsThatAreDocumented(t *testing.T) {
	got, err := poolsFrom(metalWith("{}"), withHosts("metal", "{matchLabels: {a: b}}"))
	require.NoError(t, err)
	filled := got.Providers[0].Spec.Hosts
	require.Equal(t, 10*time.Minute, filled.OnTimeout.Duration)
	require.Equal(t, 24*time.Hour, filled.Quarantine.MaxCoolDown.Duration)
	require.Equal(t, []string{"kill", "-38", "1"}, filled.PowerOff.Command)
	rules, err := host.RulesOf(filled)
	require.NoError(t, err)
	require.Equal(t, host.DefaultRules(), rules)
	require.Equal(t, wol.DefaultPodConfig(), wol.PodConfigOf(filled))
	require.Equal(t, wol.DefaultPodConfig(), wol.PodConfigOf(nil))
}

func TestRulesOfHostsThatCannotHold(t *testing.T) {
	for rules, want := range map[string]string{
		"{settle: 0s}":                          "at least 1s",
		"{settle: soon}":                        "must be a duration",
		"{onAttempts: 0}":                       "onAttempts",
		"{onRetry: 20m}":                        "less than onTimeout",
		"{answerTimeout: 11m}":                  "must not exceed onTimeout",
		"{quarantine: {coolDown: 25h}}":         "must not exceed maxCoolDown",
		"{quarantine: {maxStrikes: 0}}":         "maxStrikes",
		"{powerOff: {namespace: 'Not A Name'}}": "that matches",
		"{powerOff: {command: []}}":             "command",
		"{powerOff: {deadline: 1s}}":            "at least 10s",
		"{shutdown: 5m}":                        "shutdown",
	} {
		_, err := poolsFrom(metalWith(rules), withHosts("metal", "{matchLabels: {a: b}}"))
		require.ErrorContains(t, err, want, rules)
	}
	_, err := poolsFrom(strings.Replace(goodProvider, "{type: sim}", "{type: sim, hosts: {}}", 1), goodPool)
	require.ErrorContains(t, err, "only when type is redfish")

	_, err = poolsFrom(strings.Replace(metal, "{type: redfish}", "{type: redfish, endpoint: \"https://bmc\"}", 1), withHosts("metal", "{matchLabels: {a: b}}"))
	require.ErrorContains(t, err, "each Host has its own in spec.power")
}
