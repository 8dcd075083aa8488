package crds_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// transition is what the CEL rules of a definition say of a change.
func transition(t *testing.T, file string, from, to map[string]any) (broken []string) {
	t.Helper()
	crd := internal(t, file)
	props := crd.Spec.Validation
	if props == nil {
		props = &apiextensions.CustomResourceValidation{OpenAPIV3Schema: crd.Spec.Versions[0].Schema.OpenAPIV3Schema}
	}
	structural, err := schema.NewStructural(props.OpenAPIV3Schema)
	require.NoError(t, err)
	errs, _ := cel.NewValidator(structural, true, celconfig.PerCallLimit).
		Validate(context.Background(), nil, structural, to, from, celconfig.RuntimeCELCostBudget)
	for _, e := range errs {
		broken = append(broken, e.Error())
	}
	return broken
}

func hostObject(status map[string]any, power ...any) map[string]any {
	p := map[string]any{"interface": "redfish", "address": "https://10.0.9.1", "credentials": map[string]any{"namespace": "a", "name": "b"}}
	for i := 0; i < len(power); i += 2 {
		if power[i+1] == nil {
			delete(p, power[i].(string))
		} else {
			p[power[i].(string)] = power[i+1]
		}
	}
	h := map[string]any{"apiVersion": "muster.sh/v1alpha1", "kind": "Host", "metadata": map[string]any{"name": "host-01"},
		"spec": map[string]any{"provider": "metal", "power": p, "systemUUID": "6d757374-6572-4000-8000-000000000001",
			"resources": map[string]any{"cpu": "8", "memory": "16Gi"}}}
	if status != nil {
		h["status"] = status
	}
	return h
}

// TestM06AClaimedHostKeepsItsProviderAndItsSwitch: a host that is another machine's, or answers elsewhere, would be "off" or "gone"
// while the machine that serves the claim runs on.
func TestM06AClaimedHostKeepsItsProviderAndItsSwitch(t *testing.T) {
	claimed := map[string]any{"state": "Ready", "claim": map[string]any{"name": "std-000", "uid": "u", "at": "2026-11-22T10:00:00.000000Z"}}
	on := map[string]any{"state": "Quarantined", "switchedOn": true}
	free := map[string]any{"state": "Off", "switchedOn": false}
	elsewhere := func(h map[string]any) map[string]any { h["spec"].(map[string]any)["provider"] = "other"; return h }
	for name, c := range map[string]struct {
		status   map[string]any
		from, to func(status map[string]any) map[string]any
		broken   string
	}{
		"its provider": {claimed, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any { return elsewhere(hostObject(s)) }, "spec.provider cannot change while a NodeClaim has the host"},
		"its address": {claimed, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any { return hostObject(s, "address", "https://10.0.9.2") }, "spec.power.address cannot change"},
		"its system": {claimed, func(s map[string]any) map[string]any { return hostObject(s, "system", "1") },
			func(s map[string]any) map[string]any { return hostObject(s, "system", "2") }, "spec.power.system cannot change"},
		"a system where none was named": {claimed, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any { return hostObject(s, "system", "2") }, "spec.power.system cannot change"},
		"no system where one was named": {claimed, func(s map[string]any) map[string]any { return hostObject(s, "system", "2") },
			func(s map[string]any) map[string]any { return hostObject(s) }, "spec.power.system cannot change"},
		"its interface": {claimed, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any { return hostObject(s, "interface", "ipmi") }, "spec.power.interface cannot change"},
		"its mac": {claimed, func(s map[string]any) map[string]any {
			return hostObject(s, "interface", "wol", "address", nil, "credentials", nil, "mac", "52:54:00:12:34:56")
		}, func(s map[string]any) map[string]any {
			return hostObject(s, "interface", "wol", "address", nil, "credentials", nil, "mac", "52:54:00:12:34:57")
		}, "spec.power.mac cannot change"},
		"the provider of one that Muster has on": {on, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any { return elsewhere(hostObject(s)) }, "spec.provider cannot change"},
		"its credentials": {claimed, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any {
				return hostObject(s, "credentials", map[string]any{"namespace": "a", "name": "new"})
			}, ""},
		"the provider of a free one": {free, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any {
				return elsewhere(hostObject(s, "address", "https://10.0.9.2", "system", "2"))
			}, ""},
		"the provider of one that was never looked at": {nil, func(s map[string]any) map[string]any { return hostObject(s) },
			func(s map[string]any) map[string]any { return elsewhere(hostObject(s)) }, ""},
		"the status of a claimed one": {claimed, func(s map[string]any) map[string]any { return hostObject(s) },
			func(map[string]any) map[string]any { return hostObject(free) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			broken := transition(t, "muster.sh_hosts.yaml", c.from(c.status), c.to(c.status))
			if c.broken == "" {
				require.Empty(t, broken)
				return
			}
			require.Len(t, broken, 1)
			require.Contains(t, broken[0], c.broken)
		})
	}
}
