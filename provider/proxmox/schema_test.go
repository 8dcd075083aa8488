package proxmox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// published is where the API description and recorded exchanges are, if they are: they are no part of this repository.
func published(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("MUSTER_PVE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "pve")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return data
}

type apiNode struct {
	Path     string    `json:"path"`
	Children []apiNode `json:"children"`
	Info     map[string]struct {
		Parameters struct {
			Properties map[string]struct {
				Type     string `json:"type"`
				Optional any    `json:"optional"`
			} `json:"properties"`
		} `json:"parameters"`
	} `json:"info"`
}

func (n apiNode) each(visit func(apiNode)) {
	visit(n)
	for _, c := range n.Children {
		c.each(visit)
	}
}

// facts are what both tests compare: the simulator refuses by them, so a client that passes it sends nothing else.
func TestTheSimulatorsFactsAreThePublishedOnes(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range pvesim.Operations {
		key := o.Method + " " + o.Path
		require.False(t, seen[key], "%s is there twice", key)
		seen[key] = true
		for _, name := range o.Required {
			require.Contains(t, o.Parameters, name, key)
		}
	}
	data := published(t, "apischema-8.4.json")
	if data == nil {
		require.NotEmpty(t, seen)
		return
	}
	var roots []apiNode
	require.NoError(t, json.Unmarshal(data, &roots))
	found := 0
	for _, root := range roots {
		root.each(func(n apiNode) {
			for _, o := range pvesim.Operations {
				info, ok := n.Info[o.Method]
				if !ok || o.Path != n.Path {
					continue
				}
				found++
				for name, kind := range o.Parameters {
					p, known := info.Parameters.Properties[name]
					require.True(t, known, "%s %s has no parameter %s", o.Method, o.Path, name)
					require.Equal(t, string(kind), p.Type, "%s %s: %s", o.Method, o.Path, name)
				}
				for name, p := range info.Parameters.Properties {
					optional := p.Optional == float64(1) || p.Optional == "1"
					if !optional && !strings.Contains(o.Path, "{"+name+"}") {
						require.Contains(t, o.Required, name, "%s %s needs it", o.Method, o.Path)
					}
				}
			}
		})
	}
	require.Equal(t, len(pvesim.Operations), found, "operations that are published")
}

func TestTheOptionsAreThePublishedOnes(t *testing.T) {
	require.True(t, slices.IsSorted(optionNames))
	data := published(t, "apischema-8.4.json")
	if data == nil {
		return
	}
	var roots []apiNode
	require.NoError(t, json.Unmarshal(data, &roots))
	for _, root := range roots {
		root.each(func(n apiNode) {
			if n.Path != "/nodes/{node}/qemu/{vmid}/config" {
				return
			}
			properties := n.Info["PUT"].Parameters.Properties
			for _, name := range optionNames {
				_, plain := properties[name]
				_, numbered := properties[name+"[n]"]
				_, zero := properties[name+"0"]
				require.True(t, plain || numbered || zero, name)
			}
		})
	}
}

// Real answers go through the code that reads the simulator's.
func TestRecordedAnswersAreRead(t *testing.T) {
	data := published(t, filepath.Join("recordings", "QEMULifecycle.json"))
	if data == nil {
		data = []byte(`[{"method":"POST","url":"https://pve/api2/json/nodes/pve/qemu","code":200,
			"body":"{\"data\":\"UPID:pve:00000001:00000002:6A4A8EED:qmcreate:9101:root@pam!x:\"}"}]`)
	}
	var exchanges []struct {
		Method, URL, Body string
		Code              int
	}
	require.NoError(t, json.Unmarshal(data, &exchanges))
	tasks, ended := 0, 0
	for _, e := range exchanges {
		var text struct {
			Data json.RawMessage `json:"data"`
		}
		if e.Code != 200 {
			continue
		}
		require.NoError(t, json.Unmarshal([]byte(e.Body), &text), e.URL)
		var name string
		if json.Unmarshal(text.Data, &name) == nil && strings.HasPrefix(name, "UPID:") {
			_, err := parseUPID(name)
			require.NoError(t, err)
			tasks++
		}
		if strings.HasSuffix(e.URL, "/status") && strings.Contains(e.URL, "/tasks/") {
			var s struct{ Status, ExitStatus string }
			require.NoError(t, json.Unmarshal(text.Data, &s))
			v, err := judge(s.Status, s.ExitStatus)
			require.NoError(t, err)
			if !v.running {
				require.Empty(t, v.failure)
				ended++
			}
		}
	}
	require.Positive(t, tasks)
	if len(exchanges) > 1 {
		require.Positive(t, ended)
	}
	if cluster := published(t, filepath.Join("recordings", "ClusterAndHAReads.json")); cluster != nil {
		readRecordedResources(t, cluster)
	}
}

func readRecordedResources(t *testing.T, data []byte) {
	var exchanges []struct{ URL, Body string }
	require.NoError(t, json.Unmarshal(data, &exchanges))
	for _, e := range exchanges {
		if !strings.HasSuffix(e.URL, "/cluster/resources") {
			continue
		}
		var answer struct{ Data []json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(e.Body), &answer))
		v := &view{}
		for _, raw := range answer.Data {
			require.NoError(t, v.add(raw))
		}
		require.Len(t, v.hosts, 3)
		require.NotEmpty(t, v.stores)
		require.Positive(t, v.hosts[0].MaxMem)
	}
}
