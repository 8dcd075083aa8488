package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updatePlans = flag.Bool("update-plans", false, "rewrite the expected plans")

const samples = "../../testdata/plan/sample/"

// muster runs the program as a shell would.
func muster(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return out.String(), errs.String(), code
}

func planOf(cluster string, more ...string) []string {
	return append([]string{"plan", "--pools", samples + "pools.yaml", "--cluster", samples + cluster}, more...)
}

func TestPlanOfTheSamples(t *testing.T) {
	for golden, args := range map[string][]string{
		"plan.txt":      planOf("cluster.yaml"),
		"plan.json":     planOf("cluster.yaml", "--output", "json"),
		"two-pods.txt":  planOf("two-pods.yaml"),
		"two-pods.json": planOf("two-pods.yaml", "--output", "json"),
	} {
		t.Run(golden, func(t *testing.T) {
			stdout, stderr, code := muster(args...)
			require.Empty(t, stderr)
			require.Zero(t, code)
			if *updatePlans {
				require.NoError(t, os.WriteFile(samples+golden, []byte(stdout), 0o644))
			}
			want, err := os.ReadFile(samples + golden)
			require.NoError(t, err)
			require.Equal(t, string(want), stdout)
		})
	}
}

func TestTheDocumentShowsWhatTheProgramPrints(t *testing.T) {
	page, err := os.ReadFile("../../docs/plan.md")
	require.NoError(t, err)
	for _, golden := range []string{"plan.txt", "two-pods.json"} {
		printed, err := os.ReadFile(samples + golden)
		require.NoError(t, err)
		require.True(t, strings.Contains(string(page), string(printed)), golden)
	}
}

func TestTheDocumentNamesEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/plan.md")
	require.NoError(t, err)
	raw, err := os.ReadFile(samples + "plan.json")
	require.NoError(t, err)
	var plan map[string]any
	require.NoError(t, json.Unmarshal(raw, &plan))
	fields(plan, func(name string) { require.True(t, strings.Contains(string(page), "`"+name+"`"), name) })
}

// fields visits the names of all fields but those of resource lists, which are names of resources.
func fields(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			visit(name)
			if name != "resources" && name != "allocatable" && name != "use" {
				fields(inner, visit)
			}
		}
	case []any:
		for _, inner := range v {
			fields(inner, visit)
		}
	}
}

func TestPlanFailsWithAClearMessage(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("apiVersion: muster.sh/v1alpha1\nkind: NodePool\nmetadata:\n  name: p\nspec:\n  provider: 7\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no cluster file": {[]string{"plan", "--pools", samples + "pools.yaml"}, `required flag(s) "cluster" not set`},
		"an unknown kind of output": {planOf("cluster.yaml", "--output", "yaml"),
			`--output "yaml": must be text or json`},
		"a file that is not there": {planOf("nowhere.yaml"), "read --cluster: "},
		"a broken pools file":      {[]string{"plan", "--pools", broken, "--cluster", samples + "cluster.yaml"}, "spec.provider"},
		"a stray argument":         {planOf("cluster.yaml", "extra"), `unknown command "extra"`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := muster(c.args...)
			require.Equal(t, 1, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, c.want)
		})
	}
}

func TestPlanTellsAScriptWhenPodsAreLeft(t *testing.T) {
	stdout, stderr, code := muster(planOf("cluster.yaml", "--exit-code")...)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "No pool can take:")
	require.Contains(t, stderr, "pods that no pool can take: 2")
}

func TestPlanCountsPodsOfTheNamedSchedulersOnly(t *testing.T) {
	stdout, _, code := muster(planOf("two-pods.yaml", "--scheduler", "muster")...)
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(stdout, "Pods that wait for a node: 0 "), stdout)
	require.Contains(t, stdout, "Nothing to buy.")
	require.Contains(t, stdout, "Note: Not counted: pods of other schedulers: 2.")
}

func TestPlanSaysWhichLabelNoNodeWillHave(t *testing.T) {
	pool, err := os.ReadFile(samples + "pools.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "pools.yaml")
	text := strings.Replace(string(pool), "  template:\n", "  template:\n    annotations: {host: \"{{.Hots}}\", rack: \"{{.Rack}}\"}\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	stdout, stderr, code := muster("plan", "--pools", file, "--cluster", samples+"two-pods.yaml")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "would come without annotation host: ")
	require.NotContains(t, stdout, "annotation rack")
}
