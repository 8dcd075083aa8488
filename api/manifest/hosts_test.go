package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
