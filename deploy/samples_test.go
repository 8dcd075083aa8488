package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/seed"
)

func TestTheProxmoxSampleIsReadByMuster(t *testing.T) {
	pools, err := manifest.ReadPools("samples/proxmox/provider.yaml")
	require.NoError(t, err)
	p := pools.Providers[0].Spec.Proxmox
	require.Equal(t, "Linked", p.Clone, "defaults of the API server")
	require.Equal(t, int32(4), p.MaxClonesPerHost)
	require.Equal(t, "virtio", p.Networks[0].Model)
}

// A pod that names a scheduler which its mode does not bring waits for ever, and nobody says why.
func TestThePodsOfTheSamplesHaveTheSchedulerOfTheirMode(t *testing.T) {
	all := shipped(t)
	require.Equal(t, "muster", only[appsv1.Deployment](t, all, "samples/workloads.yaml").Spec.Template.Spec.SchedulerName)
	require.Equal(t, "muster", only[batchv1.Job](t, all, "samples/workloads.yaml").Spec.Template.Spec.SchedulerName)
	require.Empty(t, only[appsv1.Deployment](t, all, "samples/guard/workload.yaml").Spec.Template.Spec.SchedulerName)
	require.Empty(t, only[v1alpha1.NodePool](t, all, "samples/guard/pool.yaml").Spec.Template.Taints, "pods of the default scheduler do not tolerate it")
}

// join is the block of a Provider whose machines get an image each.
const join = "join: {templates: {namespace: muster-system, name: proxmox-join}, storage: iso, token: {}}"

// The sample's user-data becomes what cloud-init and kubeadm read, and the defaults are those of the API server.
func TestTheJoinSampleIsRendered(t *testing.T) {
	all := shipped(t)
	secret := only[corev1.Secret](t, all, "samples/proxmox/join.yaml")
	files, err := seed.Render(map[string][]byte{seed.UserData: []byte(secret.StringData[seed.UserData])}, seed.CloudInit,
		seed.Facts{Node: "home-000", ProviderID: "proxmox://home/10000", Token: "abcdef.0123456789abcdef"})
	require.NoError(t, err)
	var cloud struct {
		WriteFiles []struct{ Path, Content string } `json:"write_files"`
		RunCmd     [][]string                       `json:"runcmd"`
	}
	require.NoError(t, yaml.Unmarshal(files[seed.UserData], &cloud))
	require.Equal(t, "kubeadm", cloud.RunCmd[0][0])
	require.Contains(t, cloud.RunCmd[0], cloud.WriteFiles[0].Path)
	var config struct {
		Discovery struct {
			BootstrapToken struct{ Token string } `json:"bootstrapToken"`
		} `json:"discovery"`
		NodeRegistration struct {
			Name             string                         `json:"name"`
			KubeletExtraArgs []struct{ Name, Value string } `json:"kubeletExtraArgs"`
		} `json:"nodeRegistration"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(cloud.WriteFiles[0].Content), &config))
	require.Equal(t, "abcdef.0123456789abcdef", config.Discovery.BootstrapToken.Token)
	require.Equal(t, "home-000", config.NodeRegistration.Name)
	require.Equal(t, "proxmox://home/10000", config.NodeRegistration.KubeletExtraArgs[0].Value)

	sample, err := os.ReadFile("samples/proxmox/provider.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "provider.yaml")
	text := strings.Replace(string(sample), "    cloudInit:\n      user: core\n      ipConfig: [ip=dhcp]\n", "    "+join+"\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	pools, err := manifest.ReadPools(file)
	require.NoError(t, err)
	got := pools.Providers[0].Spec.Proxmox.Join
	require.Equal(t, "CloudInit", got.Format)
	require.Equal(t, 20*time.Minute, got.Token.TTL.Duration)
	require.Equal(t, []string{"system:bootstrappers:kubeadm:default-node-token"}, got.Token.Groups)
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
		"template and netboot":          {"pool: muster", "pool: muster\n    netboot: {}", "exactly one of template and netboot"},
		"no network to boot from":       {"    template:\n      tag: k8s-node\n    pool: muster\n", "    netboot: {}\n    networks: []\n    pool: muster\n", "networks"},
		"UEFI without a disk":           {"    template:\n      tag: k8s-node\n", "    netboot: {bios: ovmf}\n", "storage is required with ovmf"},
		"a disk's size without a disk":  {"    template:\n      tag: k8s-node\n", "    netboot: {diskSize: 10Gi}\n", "diskSize has a meaning only with storage"},
		"a disk first without a disk":   {"    template:\n      tag: k8s-node\n", "    netboot: {bootOrder: DiskFirst}\n", "there is no disk"},
		"two cloud-init drives":         {"pool: muster", "pool: muster\n    " + join, "join and cloudInit exclude each other"},
		"a token for an hour":           {"    cloudInit:\n      user: core\n      ipConfig: [ip=dhcp]\n", "    " + strings.Replace(join, "token: {}", "token: {ttl: 1h}", 1) + "\n", "at most 30m"},
		"a token for everybody":         {"    cloudInit:\n      user: core\n      ipConfig: [ip=dhcp]\n", "    " + strings.Replace(join, "token: {}", "token: {groups: [\"system:masters\"]}", 1) + "\n", "groups"},
		"a drive that there is not":     {"    cloudInit:\n      user: core\n      ipConfig: [ip=dhcp]\n", "    " + strings.Replace(join, "token: {}", "device: net0", 1) + "\n", "device"},
		"a pool with two sources":       {"    overhead: {cpu", "    proxmox: {template: {id: 9000}, netboot: {}}\n    overhead: {cpu", "template and netboot exclude each other"},
		"a pool's storage of a link":    {"    overhead: {cpu", "    proxmox: {storage: fast}\n    overhead: {cpu", "only when clone is Full"},
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
