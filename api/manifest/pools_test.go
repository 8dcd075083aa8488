package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const goodPool = `apiVersion: muster.sh/v1alpha1
kind: NodePool
metadata:
  name: general
spec:
  provider: sim
  template:
    shapes:
    - name: small
      resources: {cpu: 2, memory: 4Gi}
  limits:
    maxNodes: 3
`

const goodProvider = `apiVersion: muster.sh/v1alpha1
kind: Provider
metadata: {name: sim}
spec: {type: sim}
`

func poolsFrom(texts ...string) (*Pools, error) {
	names := []string{"a.yaml", "b.yaml", "c.yaml"}
	sources := make([]source, 0, len(texts))
	for i, text := range texts {
		sources = append(sources, source{file: names[i], text: []byte(text)})
	}
	return readPools(sources)
}

func TestPoolsGetTheDefaultsOfTheAPIServer(t *testing.T) {
	got, err := poolsFrom("# two documents\n---\n" + goodProvider + "---\n" + goodPool + "---\n")
	require.NoError(t, err)
	require.Len(t, got.Providers, 1)
	require.Len(t, got.Pools, 1)
	pool := got.Pools[0]
	require.Equal(t, "general", pool.Name)
	require.EqualValues(t, 3, pool.Spec.Limits.MaxNodes)
	require.Equal(t, 10*time.Minute, pool.Spec.ScaleUp.RegistrationTimeout.Duration)
	require.Equal(t, 10*time.Minute, pool.Spec.ScaleDown.IdleAfter.Duration)
	require.EqualValues(t, 3, pool.Spec.ScaleUp.MaxAttempts)
	require.EqualValues(t, 2, pool.Spec.Template.Shapes[0].Resources.Cpu().Value())
}

func TestPoolsComeInAnyPackaging(t *testing.T) {
	json := `{"apiVersion":"v1","kind":"List","items":[
	{"apiVersion":"muster.sh/v1alpha1","kind":"NodePool","metadata":{"name":"general"},"spec":{"provider":"sim",
	"template":{"shapes":[{"name":"small","resources":{"cpu":2,"memory":"4Gi"}}]},"limits":{"maxNodes":3}}}]}`
	indent := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") }
	for name, text := range map[string]string{
		"a document":        goodPool,
		"a List in YAML":    "apiVersion: v1\nkind: List\nitems:\n- " + indent(goodPool) + "\n",
		"a typed list":      "apiVersion: muster.sh/v1alpha1\nkind: NodePoolList\nitems:\n- " + indent(goodPool[strings.Index(goodPool, "metadata"):]) + "\n",
		"a List in JSON":    json,
		"a List in a List":  `{"apiVersion":"v1","kind":"List","items":[` + json + `]}`,
		"JSON with a mark":  "\xef\xbb\xbf" + json,
		"an anchor":         strings.Replace(goodPool, "{cpu: 2, memory: 4Gi}", "&r {cpu: 2, memory: 4Gi}\n    - name: twin\n      resources: *r", 1),
		"a merge key":       strings.Replace(goodPool, "{cpu: 2, memory: 4Gi}", "&r {cpu: 2, memory: 4Gi}\n    - name: twin\n      resources: {<<: *r, cpu: 3}", 1),
		"DOS line endings":  strings.ReplaceAll(goodPool, "\n", "\r\n"),
		"what kubectl gets": strings.Replace(goodPool, "name: general", "name: general\n  creationTimestamp: \"2026-11-21T09:00:00Z\"\n  uid: u\n  resourceVersion: \"7\"\n  generation: 1\n  managedFields: []", 1) + "status: {nodes: 1}\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := poolsFrom(text)
			require.NoError(t, err)
			require.Len(t, got.Pools, 1)
			require.EqualValues(t, 4<<30, got.Pools[0].Spec.Template.Shapes[0].Resources.Memory().Value())
		})
	}
}

// edit replaces one text of goodPool, which must be there.
func edit(t *testing.T, from, to string) string {
	t.Helper()
	require.Contains(t, goodPool, from)
	return strings.Replace(goodPool, from, to, 1)
}

func TestABrokenPoolsFileNamesFileLineAndField(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		want     string
	}{
		"a mandatory field is missing": {
			"    maxNodes: 3", "    minNodes: 1",
			"a.yaml:11: spec.limits.maxNodes: Required value: a whole number from 0 to 1000 (NodePool general)"},
		"a whole block is missing": {
			"  limits:\n    maxNodes: 3", "  weight: 1",
			"a.yaml:5: spec.limits: Required value: an object with maxNodes (NodePool general)"},
		"a field is misspelled": {
			"    maxNodes: 3", "    maxNodes: 3\n    maxnodes: 4",
			"a.yaml:13: spec.limits.maxnodes: Unknown field: did you mean maxNodes? (NodePool general)"},
		"a field is unknown": {
			"    maxNodes: 3", "    maxNodes: 3\n    price: 4",
			"a.yaml:13: spec.limits.price: Unknown field: accepted here: maxNodes, minNodes, resources (NodePool general)"},
		"metadata is misspelled": {
			"  name: general", "  name: general\n  lables: {}",
			"a.yaml:5: metadata.lables: Unknown field: did you mean labels? (NodePool general)"},
		"a field stands twice": {
			"    maxNodes: 3", "    maxNodes: 3\n    maxNodes: 4",
			"a.yaml:13: maxNodes: Duplicate field: it stands in line 12 already"},
		"a number is a text": {
			"maxNodes: 3", "maxNodes: many",
			"a.yaml:12: spec.limits.maxNodes: Invalid value: must be a whole number from 0 to 1000 (NodePool general)"},
		"a number is out of range": {
			"maxNodes: 3", "maxNodes: 1001",
			"a.yaml:12: spec.limits.maxNodes: Invalid value: 1001: should be less than or equal to 1000 (NodePool general)"},
		"a text is a boolean to kubectl": {
			"provider: sim", "provider: on",
			"a.yaml:6: spec.provider: Invalid value: must be a text (NodePool general)"},
		"a quantity is none": {
			"memory: 4Gi", "memory: 4Gigs",
			`a.yaml:10: spec.template.shapes[0].resources.memory: Invalid value: "4Gigs": must be a quantity such as 500m, 2, "1.5" or 8Gi (NodePool general)`},
		"a quantity is negative": {
			"cpu: 2", "cpu: -2",
			"a.yaml:9: spec.template.shapes[0]: Invalid value: resources must be greater than zero and less than 1P (NodePool general)"},
		"a quantity is a fraction without quotes": {
			"cpu: 2", "cpu: 0.5",
			`a.yaml:10: spec.template.shapes[0].resources.cpu: Invalid value: must be a quantity such as 500m, 2, "1.5" or 8Gi (NodePool general)`},
		"a quantity overflows": {
			"memory: 4Gi", "memory: \"9e30\"",
			"a.yaml:9: spec.template.shapes[0]: Invalid value: resources must be greater than zero and less than 1P (NodePool general)"},
		"a duration is none": {
			"  limits:", "  scaleDown: {idleAfter: soon}\n  limits:",
			`a.yaml:11: spec.scaleDown.idleAfter: Invalid value: "soon": must be a duration such as 90s or 10m (NodePool general)`},
		"a budget is half a window": {
			"  limits:", "  scaleDown: {budgets: [{nodes: 1, schedule: '@daily'}]}\n  limits:",
			"a.yaml:11: spec.scaleDown.budgets[0]: Invalid value: schedule and duration go together (NodePool general)"},
		"a budget is no share": {
			"  limits:", "  scaleDown: {budgets: [{nodes: 110%}]}\n  limits:",
			"a.yaml:11: spec.scaleDown.budgets[0]: Invalid value: nodes is a count such as 3 or a share such as 10% (NodePool general)"},
		"fields contradict each other": {
			"    shapes:", "    range: {cpu: {min: 1, max: 2, step: 1}, memory: {min: 1Gi, max: 2Gi, step: 1Gi}}\n    shapes:",
			"a.yaml:7: spec.template: Invalid value: exactly one of shapes and range must be set (NodePool general)"},
		"limits contradict each other": {
			"    maxNodes: 3", "    maxNodes: 3\n    minNodes: 4",
			"a.yaml:11: spec.limits: Invalid value: minNodes must not exceed maxNodes (NodePool general)"},
		"a name is too long for its claims": {
			"name: general", "name: " + strings.Repeat("x", 51),
			"a.yaml:1: Invalid value: metadata.name must have at most 50 characters: a claim's name is the pool's name and a slot (NodePool " + strings.Repeat("x", 51) + ")"},
		"a name is no name": {
			"name: general", "name: General_1",
			"a.yaml:4: metadata.name: Invalid value: \"General_1\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') (NodePool General_1)"},
		"a name is missing": {
			"  name: general", "  labels: {}",
			"a.yaml:3: metadata.name: Required value: name or generateName is required (NodePool)"},
		"the version is unknown": {
			"muster.sh/v1alpha1", "muster.sh/v1",
			`a.yaml:1: apiVersion: Unsupported value: "muster.sh/v1": NodePool is read from muster.sh/v1alpha1 (NodePool general)`},
		"the kind is not read": {
			"kind: NodePool", "kind: Nodepool",
			"a.yaml:2: kind: muster.sh/v1alpha1 Nodepool is not read here: a pools file holds NodePool, Provider and Host of muster.sh/v1alpha1 (Nodepool general)"},
		"the kind is missing": {
			"kind: NodePool\n", "",
			"a.yaml:1: kind: Required value: a text such as Pod or NodePool"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := poolsFrom(edit(t, c.from, c.to))
			require.EqualError(t, err, c.want)
		})
	}
}

func TestOtherBrokenPoolsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"nothing":      {[]string{""}, "a.yaml: no NodePool in it"},
		"only comment": {[]string{"# later\n---\n"}, "a.yaml: no NodePool in it"},
		"no pool":      {[]string{goodProvider}, "a.yaml: no NodePool in it"},
		"a text":       {[]string{"hello"}, "a.yaml:1: must be an object with apiVersion and kind"},
		"an empty object": {[]string{"{}"},
			"a.yaml:1: apiVersion: Required value: a text such as v1 or muster.sh/v1alpha1"},
		"truncated YAML": {[]string{goodPool + "  weight: \"1"},
			"a.yaml:13: not YAML: found unexpected end of stream"},
		"truncated JSON": {[]string{`{"apiVersion": "v1",` + "\n" + `"kind":`},
			"a.yaml:2: not YAML: did not find expected node content"},
		"not UTF-8": {[]string{"a: b\nc: \xff\n"}, "a.yaml:2: not UTF-8"},
		"a List without items": {[]string{"apiVersion: v1\nkind: List\n"},
			"a.yaml:1: items: Required value: a list of objects"},
		"a List with more": {[]string{"apiVersion: v1\nkind: List\nspec: {}\nitems: []\n"},
			"a.yaml:3: spec: Unknown field: a List has apiVersion, kind, metadata and items"},
		"names that stand twice": {[]string{goodPool, goodProvider + "---\n" + goodPool},
			`b.yaml:9: metadata.name: Duplicate value: "general": it is at a.yaml:4 already (NodePool general)`},
		"a provider that is not there": {[]string{goodPool, strings.Replace(goodProvider, "name: sim", "name: lab", 1)},
			`a.yaml:6: spec.provider: Not found: "sim": the Providers in these files are lab (NodePool general)`},
		"a provider with too much": {[]string{goodPool + "---\n" + goodProvider[:len(goodProvider)-1] + "\nspec2: {}\n"},
			"a.yaml:18: spec2: Unknown field: did you mean spec? (Provider sim)"},
		"a sim that is none": {[]string{goodPool + "---\n" + strings.Replace(goodProvider, "{type: sim}", "{type: wol, sim: {seed: 1}}", 1)},
			"a.yaml:17: spec: Invalid value: sim may be set only when type is sim (Provider sim)"},
		"two mistakes in two files": {[]string{strings.Replace(goodPool, "maxNodes: 3", "maxNodes: x", 1), "{"},
			"a.yaml:12: spec.limits.maxNodes: Invalid value: must be a whole number from 0 to 1000 (NodePool general)\n" +
				"b.yaml:1: not YAML: did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := poolsFrom(c.texts...)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestALongListOfMistakesIsCut(t *testing.T) {
	_, err := poolsFrom(strings.Repeat("---\nkind: x\n", 30))
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, maxErrors+1)
	require.Equal(t, "and 10 more", lines[maxErrors])
}
