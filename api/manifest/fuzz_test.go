package manifest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

var seeds = []string{
	goodPool, goodProvider, goodCluster, "", "---\n", "{}", "[]", "null", "a: &a [*a]", "a: &a {<<: *a}", "\xff", "\xef\xbb\xbf{}",
	`{"apiVersion":"v1","kind":"PodList","items":[{},null,7,{"metadata":null}]}`,
	`{"apiVersion":"v1","kind":"List","items":null}`,
	"kind: List\napiVersion: v1\nitems:\n- kind: NodePool\n  apiVersion: muster.sh/v1alpha1\n  metadata: {name: [x]}\n",
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"resources":{"requests":{"cpu":"1e-99999999"}}}]}}`,
	"a: yes\nb: 0o17\nc: 017\nd: 2001-01-01\ne: 1_000\nf: !!str 7\ng: ~\nh: 1e3\ni: .5\nj: 0x1F\nk: n\n",
}

// Nobody's bytes may make the reader panic, pass an amount that no node has, or fail without naming the file.
func FuzzReadCluster(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readCluster([]source{{file: "f", text: text}})
		named(t, err)
		if err != nil {
			return
		}
		for _, n := range got.Nodes {
			require.NotEmpty(t, n.Name)
			positive(t, n.Status.Allocatable)
		}
		for _, p := range got.Pods {
			require.NotEmpty(t, p.UID)
			for i := range p.Spec.Containers {
				positive(t, p.Spec.Containers[i].Resources.Requests)
			}
		}
	})
}

func FuzzReadPools(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readPools([]source{{file: "f", text: text}})
		named(t, err)
		if err != nil {
			return
		}
		for _, p := range got.Pools {
			require.NotEmpty(t, p.Name)
			require.LessOrEqual(t, p.Spec.Limits.MinNodes, p.Spec.Limits.MaxNodes)
			require.NotEqual(t, p.Spec.Template.Shapes == nil, p.Spec.Template.Range == nil)
			for _, s := range p.Spec.Template.Shapes {
				positive(t, s.Resources)
			}
		}
	})
}

// Where both this reader and kubectl's accept a document, they read the same.
func FuzzSameAsKubectl(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var node yaml.Node
		if yaml.Unmarshal([]byte(text), &node) != nil || content(&node) == nil || content(&node).Kind != yaml.MappingNode || strings.ContainsAny(text, "<!") {
			return // the two disagree on merge keys and on the lone tag; the tables hold what this reader does
		}
		ours, problem := toJSON(&node)
		theirs, err := sigsyaml.YAMLToJSONStrict([]byte(text))
		if problem != nil || err != nil {
			return
		}
		var a, b any
		require.NoError(t, json.Unmarshal(ours, &a), string(ours))
		require.NoError(t, json.Unmarshal(theirs, &b))
		require.True(t, reflect.DeepEqual(a, b), "ours %s theirs %s", ours, theirs)
	})
}

func named(t *testing.T, err error) {
	t.Helper()
	var errs Errors
	if err == nil {
		return
	}
	require.True(t, errors.As(err, &errs))
	for _, e := range errs {
		require.Equal(t, "f", e.File)
		require.NotEmpty(t, e.Problem)
	}
}

func positive(t *testing.T, amounts corev1.ResourceList) {
	t.Helper()
	for name, amount := range amounts {
		require.GreaterOrEqual(t, amount.Sign(), 0, "%s", name)
		require.GreaterOrEqual(t, amount.Value(), int64(0), "%s", name)
	}
}
