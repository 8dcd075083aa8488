package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/manifest"
)

func TestTheProxmoxSampleIsReadByMuster(t *testing.T) {
	pools, err := manifest.ReadPools("samples/proxmox/provider.yaml")
	require.NoError(t, err)
	p := pools.Providers[0].Spec.Proxmox
	require.Equal(t, "Linked", p.Clone, "defaults of the API server")
	require.Equal(t, int32(4), p.MaxClonesPerHost)
	require.Equal(t, "virtio", p.Networks[0].Model)
}

func TestWhatAProxmoxProviderMayNotSay(t *testing.T) {
	sample, err := os.ReadFile("samples/proxmox/provider.yaml")
	require.NoError(t, err)
	for name, c := range map[string]struct{ old, with, says string }{
		"no TLS":                        {"https://pve1", "http://pve1", "endpoint must be https"},
		"no token":                      {"  credentials:\n    namespace: muster-system\n    name: proxmox\n", "", "credentials is required"},
		"two ways to choose a template": {"tag: k8s-node", "tag: k8s-node\n      id: 9000", "exactly one of id, name and tag"},
		"a range that ends before":      {"max: 10999", "max: 100", "min must not exceed max"},
		"a number that is reserved":     {"min: 10000", "min: 99", "100"},
		"a strategy that there is not":  {"strategy: balanced", "strategy: best", "roundRobin"},
		"our own tags":                  {"pool: muster", "pool: muster\n    tags: [muster-x]", "does not begin with muster"},
		"what Muster sets itself":       {"pool: muster", "pool: muster\n    vmOptions: {smbios1: uuid=1}", "Muster sets name"},
		"storage of a linked clone":     {"pool: muster", "pool: muster\n    storage: local", "only when clone is Full"},
		"a group address":               {"BC:24:11", "BD:24:11", "macPrefix"},
		"trust of any server and one":   {"  tls:\n", "  tls:\n    insecureSkipVerify: true\n", "insecureSkipVerify would make"},
		"no block":                      {"type: proxmox", "type: sim", "proxmox is required when type is proxmox"},
		"overcommit of nothing":         {`cpu: "4"` + "\n      minFree", `cpu: "0"` + "\n      minFree", "overcommit"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, string(sample), c.old)
			file := filepath.Join(t.TempDir(), "provider.yaml")
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(sample), c.old, c.with, 1)), 0o600))
			_, err := manifest.ReadPools(file)
			require.ErrorContains(t, err, c.says)
		})
	}
}
