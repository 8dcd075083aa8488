package promises

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/test/e2e/world"
)

// plan is what `muster plan --output json` says, as far as it is checked.
type plan struct {
	Summary struct {
		Unserved int `json:"unserved"`
	} `json:"summary"`
	Machines []struct {
		Claim string   `json:"claim"`
		Pool  string   `json:"pool"`
		Shape string   `json:"shape"`
		Pods  []string `json:"pods"`
	} `json:"machines"`
	Pods []struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Fate      string `json:"fate"`
		Node      string `json:"node"`
		Claim     string `json:"claim"`
		Message   string `json:"message"`
	} `json:"pods"`
}

const unserved = "Unserved"

// ask saves the cluster as it is now under a name and asks `muster plan` about it.
func (s *scene) ask(w *world.World, name string) plan {
	s.T.Helper()
	folder := s.folder(w)
	pools, cluster := filepath.Join(folder, "pools.yaml"), filepath.Join(folder, name+".yaml")
	s.SavePools(pools)
	s.SaveCluster(cluster)
	text, err := s.Kit.Muster(s.Ctx, "plan", "--pools", pools, "--cluster", cluster, "--scheduler", "muster", "--output", "json")
	require.NoError(s.T, err)
	require.NoError(s.T, os.WriteFile(filepath.Join(folder, name+".json"), text, 0o644))
	var p plan
	require.NoError(s.T, json.Unmarshal(text, &p))
	return p
}

func (s *scene) folder(w *world.World) string {
	s.T.Helper()
	folder := filepath.Join(s.Logs, w.Name())
	require.NoError(s.T, os.MkdirAll(folder, 0o755))
	return folder
}

// fates are the pods' by namespace/name.
func (p plan) fates() map[string]string {
	fates := map[string]string{}
	for _, pod := range p.Pods {
		fates[pod.Namespace+"/"+pod.Name] = pod.Fate
	}
	return fates
}

// bought counts machines by pool and shape.
func (p plan) bought() map[string]int {
	n := map[string]int{}
	for _, m := range p.Machines {
		n[m.Pool+"/"+m.Shape]++
	}
	return n
}
