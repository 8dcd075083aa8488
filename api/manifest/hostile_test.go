package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostileInputIsRefusedInTime(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	merges := "m0: &m0 {k: v}\n"
	for i := 1; i < 40; i++ {
		merges += fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}\n", i, i, i-1, i-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"an alias bomb":            {bomb, "aliases stand for more than 262144 values"},
		"an alias of itself":       {"a: &a [*a]\n", "nested deeper than 100 levels"},
		"a bomb of merge keys":     {merges, "merge keys are nested too deep or stand for too many values"},
		"a merge of itself":        {"a: &a {<<: *a}\n", "merge keys are nested too deep or stand for too many values"},
		"deep nesting":             {"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested deeper than 100 levels"},
		"very deep nesting":        {"a: " + strings.Repeat("[", 200_000), "exceeded max depth"},
		"very deep JSON":           {`{"a":` + strings.Repeat("[", 200_000), "exceeded max depth"},
		"a key that is a list":     {"? [a]\n: b\n", "a key must be a text: quote it"},
		"a key that is a boolean":  {"on: b\n", "a key must be a text: quote it"},
		"a merge of a text":        {"<<: b\n", "a merge key needs an object"},
		"a tag of somebody else's": {"a: !ruby/object x\n", "the tag !ruby/object means nothing here"},
		"infinity":                 {"a: .inf\n", `".inf" is no number`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readCluster([]source{{file: "c.yaml", text: []byte(c.text)}})
			require.ErrorContains(t, err, c.want)
			require.True(t, strings.HasPrefix(err.Error(), "c.yaml:"), err.Error())
		})
	}
}

// Each of these would take seconds or more; the test's own deadline is the assertion.
func TestQuantitiesThatTakeForEverAreRefused(t *testing.T) {
	long := strings.Repeat("7", 1<<16)
	for name, c := range map[string]struct{ amount, shown string }{
		"a tiny number":  {`"1e-1000000000"`, `"1e-1000000000"`},
		"a vast number":  {`"1E1000000000"`, `"1E1000000000"`},
		"a vast zero":    {`"E1000000000"`, `"E1000000000"`},
		"without quotes": {`1E-1000000000`, `1E-1000000000`},
		"many digits":    {`"` + long + `"`, `"` + long[:63] + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := clusterFrom(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"x":"1e-12345"}},
				"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":` + c.amount + `}}}]}}`)
			require.EqualError(t, err, "cluster.yaml:2: spec.containers[0].resources.requests[cpu]: Invalid value: "+c.shown+
				`: must be a quantity such as 500m, 2, "1.5" or 8Gi (Pod default/a)`)
			_, err = poolsFrom(`{"apiVersion":"muster.sh/v1alpha1","kind":"NodePool","metadata":{"name":"a"},"spec":{"provider":"p",
				"template":{"shapes":[{"name":"s","resources":{"memory":"1Gi","cpu":` + c.amount + `}}]},"limits":{"maxNodes":1}}}`)
			require.EqualError(t, err, "a.yaml:2: spec.template.shapes[0].resources[cpu]: Invalid value: "+c.shown+
				`: must be a quantity such as 500m, 2, "1.5" or 8Gi (NodePool a)`)
		})
	}
	got, err := clusterFrom(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"x":"1e-12345"}},
		"spec":{"containers":[{"name":"c"}]}}`)
	require.NoError(t, err, "what only looks like one is left alone")
	require.Len(t, got.Pods, 1)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	_, err := ReadPools()
	require.EqualError(t, err, "no file was named")

	_, err = ReadCluster(filepath.Join(t.TempDir(), "absent.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)

	file := filepath.Join(t.TempDir(), "pools.yaml")
	require.NoError(t, os.WriteFile(file, []byte(goodPool), 0o600))
	_, err = ReadPools(file, file)
	require.EqualError(t, err, file+": named twice")
	got, err := ReadPools(file)
	require.NoError(t, err)
	require.Len(t, got.Pools, 1)

	require.NoError(t, os.Truncate(file, MaxPoolsBytes+1)) // zeros
	_, err = ReadPools(file)
	require.EqualError(t, err, file+": too large: at most 16 MiB are read")
}

func TestTooMuchYAMLIsRefusedBeforeItIsParsed(t *testing.T) {
	found, errs := readYAML("c.yaml", make([]byte, maxYAMLBytes+1))
	require.Empty(t, found)
	require.EqualError(t, errs, "c.yaml: too large: at most 128 MiB of YAML are read; JSON may have more")
}
