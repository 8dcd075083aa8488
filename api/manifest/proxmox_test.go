package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func lab(tls, more string) string {
	return "apiVersion: muster.sh/v1alpha1\nkind: Provider\nmetadata: {name: lab}\nspec:\n  type: proxmox\n  endpoint: https://pve1:8006\n" +
		"  tls: " + tls + "\n  credentials: {namespace: muster-system, name: pve}\n" +
		"  proxmox: {region: lab, vmids: {min: 1000, max: 1999}, template: {id: 9000}" + more + "}\n"
}

const joining = "join: {templates: {namespace: muster-system, name: join}, storage: iso, token: "

func TestAProxmoxProviderGetsItsDefaults(t *testing.T) {
	got, err := poolsFrom(lab("{caBundle: x}", `, endpoints: ["https://pve2:8006"], `+joining+"{}}"), strings.Replace(goodPool, "provider: sim", "provider: lab", 1))
	require.NoError(t, err)
	p := got.Providers[0].Spec.Proxmox
	require.Equal(t, []string{"https://pve2:8006"}, p.Endpoints)
	require.Equal(t, 20*time.Minute, p.Join.Token.TTL.Duration)
	require.Equal(t, []string{"system:bootstrappers:kubeadm:default-node-token"}, p.Join.Token.Groups)
}

func TestAProxmoxProviderThatCannotBeMeant(t *testing.T) {
	pin := "{fingerprint: '" + strings.Repeat("AB:", 31) + "AB'}"
	for more, want := range map[string]string{
		", " + joining + "{ttl: 31m}}":                            "spec.proxmox.join.token.ttl: Invalid value: \"31m\": ttl must be at least 1m and at most 30m",
		", " + joining + "{ttl: 59s}}":                            "ttl must be at least 1m",
		", " + joining + "{groups: ['system:masters']}}":          "spec.proxmox.join.token.groups[0]",
		`, endpoints: ["http://pve2:8006"]`:                       "spec.proxmox.endpoints[0]",
		`, endpoints: ["https://pve2:8006", "https://pve2:8006"]`: "Duplicate value",
		", netboot: {}": "exactly one of template and netboot",
	} {
		_, err := poolsFrom(lab("{caBundle: x}", more), goodPool)
		require.ErrorContains(t, err, want, more)
	}
	_, err := poolsFrom(lab(pin, `, endpoints: ["https://pve2:8006"]`), goodPool)
	require.ErrorContains(t, err, "use tls.caBundle with proxmox.endpoints")
}

func TestATokenOfAPoolEndsWithinHalfAnHourToo(t *testing.T) {
	pool := strings.Replace(goodPool, "provider: sim", "provider: lab", 1)
	_, err := poolsFrom(lab("{}", ""), strings.Replace(pool, "  template:\n", "  template:\n    proxmox: {"+joining+"{ttl: 31m}}}\n", 1))
	require.ErrorContains(t, err, "spec.template.proxmox.join.token.ttl: Invalid value: \"31m\": ttl must be at least 1m and at most 30m")
}
