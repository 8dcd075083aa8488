package extender_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/extender"
)

var (
	argsVerbs = []string{"/place/filter", "/place/prioritize", "/guard/filter", "/guard/prioritize"}
	allVerbs  = append([]string{"/guard/preempt"}, argsVerbs...)
)

const onePod = `{"metadata":{"name":"web","uid":"u1"}}`

func asking(requests string) string {
	return `{"metadata":{"uid":"u1"},"spec":{"containers":[{"name":"main","resources":{"requests":` + requests + `}}]}}`
}

func TestBadBodiesAre400AndNameTheField(t *testing.T) {
	for _, c := range []struct{ name, body, text string }{
		{"an empty body", ``, "body: empty"},
		{"white space", " \n\t", "body: empty"},
		{"no members", `{}`, "Pod: missing"},
		{"null", `null`, "body: "},
		{"an array", `[]`, "body: "},
		{"a nil pod", `{"Pod":null,"NodeNames":["a"]}`, "Pod: missing"},
		{"a pod that is no object", `{"Pod":3,"NodeNames":["a"]}`, "Pod: "},
		{"a pod without UID", `{"Pod":{"metadata":{"name":"web"}},"NodeNames":["a"]}`, "Pod.metadata.uid: missing"},
		{"a pod given twice", `{"Pod":` + onePod + `,"pod":` + onePod + `,"NodeNames":["a"]}`, "Pod is given twice"},
		{"a truncated body", `{"Pod":` + onePod + `,"NodeNames":["a","b`, "body: truncated"},
		{"a body cut after a backslash", `{"Pod":"\`, "body: truncated"},
		{"a body cut before a value", `{"Pod":`, "body: truncated"},
		{"something after the end", `{"Pod":` + onePod + `,"NodeNames":["a"]}}`, "body: not JSON"},
		{"rubbish", `rubbish`, "body: not JSON"},
		{"rubbish inside", `{"Pod":` + onePod + `,"NodeNames":["a"],"New":{bad}}`, `body: not JSON: the value of "New"`},
		{"rubbish in the pod", `{"Pod":{"metadata":{"uid":"u",}},"NodeNames":["a"]}`, "Pod: "},
		{"a key that is no string", `{Pod:1}`, "body: not JSON"},
		{"a missing comma", `{"Pod":` + onePod + ` "NodeNames":["a"]}`, "body: not JSON"},
		{"a missing value", `{"Pod":,"NodeNames":["a"]}`, "body: not JSON"},
		{"invalid UTF-8", "{\"Pod\":" + onePod + ",\"NodeNames\":[\"a\xff\"]}", "body: not valid UTF-8"},
		{"deep nesting", `{"New":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "body: nested deeper"},
		{"deep nesting without an end", strings.Repeat(`{"Pod":`, 100_000), "body: nested deeper"},
		{"a negative request", `{"Pod":` + asking(`{"cpu":"-1"}`) + `,"NodeNames":["a"]}`,
			`Pod.spec.containers["main"].resources.requests["cpu"]: -1 is negative`},
		{"a request past 64 bits", `{"Pod":` + asking(`{"memory":"99999999999999999999"}`) + `,"NodeNames":["a"]}`,
			`Pod.spec.containers["main"].resources.requests["memory"]: `},
		{"milli CPU past 64 bits", `{"Pod":` + asking(`{"cpu":"9223372036854776"}`) + `,"NodeNames":["a"]}`,
			`Pod.spec.containers["main"].resources.requests["cpu"]: `},
		{"a request past any number", `{"Pod":` + asking(`{"memory":"1e30"}`) + `,"NodeNames":["a"]}`,
			`Pod.spec.containers["main"].resources.requests["memory"]: 1e30 is more than can be counted`},
		{"a number that takes for ever to read", `{"Pod":` + asking(`{"cpu":"1e-1000000000"}`) + `,"NodeNames":["a"]}`,
			"Pod: a number has an exponent of more than 3 digits"},
		{"the same without quotes", `{"Pod":` + asking(`{"cpu": -1.5E-1000000000 }`) + `,"NodeNames":["a"]}`,
			"Pod: a number has an exponent of more than 3 digits"},
		{"more digits and a large exponent", `{"Pod":` + asking(`{"cpu":"12345678901234567890E1001000000"}`) + `,"NodeNames":["a"]}`,
			"Pod: a number has an exponent of more than 3 digits"},
		{"a number that takes for ever to compare", `{"Pod":` + asking(`{"cpu":"1E1001000000"}`) + `,"NodeNames":["a"]}`,
			`Pod.spec.containers["main"].resources.requests["cpu"]: its exponent is too large`},
		{"a zero that takes for ever to compare", `{"Pod":` + asking(`{"cpu":"E1001000000"}`) + `,"NodeNames":["a"]}`,
			`Pod.spec.containers["main"].resources.requests["cpu"]: its exponent is too large`},
		{"a number of many digits", `{"Pod":` + asking(`{"cpu":"`+strings.Repeat("7", 1<<20)+`"}`) + `,"NodeNames":["a"]}`,
			"Pod: a number has more than"},
		{"a quantity that is none", `{"Pod":` + asking(`{"cpu":"many"}`) + `,"NodeNames":["a"]}`, "Pod: "},
		{"containers that pass 64 bits together", `{"Pod":{"metadata":{"uid":"u1"},"spec":{
			"initContainers":[{"name":"one","resources":{"requests":{"memory":"5E"}}}],
			"containers":[{"name":"two","resources":{"requests":{"memory":"5E"}}}]}},"NodeNames":["a"]}`,
			`Pod.spec.containers["two"].resources.requests["memory"]: 5E is more than can be counted`},
		{"negative overhead", `{"Pod":{"metadata":{"uid":"u1"},"spec":{"overhead":{"cpu":"-1m"}}},"NodeNames":["a"]}`,
			`Pod.spec.overhead["cpu"]: -1m is negative`},
		{"a negative pod-level request", `{"Pod":{"metadata":{"uid":"u1"},"spec":{"resources":{"requests":{"cpu":"-1m"}}}},"NodeNames":["a"]}`,
			`Pod.spec.resources.requests["cpu"]: -1m is negative`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range allVerbs {
				w := post(extender.New(config(smallWorld())), path, []byte(c.body))
				require.Equal(t, http.StatusBadRequest, w.Code, path)
				require.Contains(t, requireErrorText(t, w.Body.Bytes()), c.text, path)
			}
		})
	}
}

func TestBadNodeListsAre400AndNameTheField(t *testing.T) {
	for _, c := range []struct{ name, members, text string }{
		{"neither names nor nodes", ``, "NodeNames: missing, and so is Nodes"},
		{"both null", `,"Nodes":null,"NodeNames":null`, "NodeNames: missing, and so is Nodes"},
		{"names and nodes", `,"Nodes":{"items":[]},"NodeNames":["a"]`, "Nodes, NodeNames: one of them"},
		{"a name given twice", `,"NodeNames":["a","b","a"]`, `NodeNames: "a" is given twice`},
		{"an escaped name given twice", `,"NodeNames":["a","\u0061"]`, `NodeNames: "a" is given twice`},
		{"an empty name", `,"NodeNames":["a",""]`, "NodeNames: element 1 has no name"},
		{"a name that is a number", `,"NodeNames":["a",3]`, "NodeNames: element 1 is not a string"},
		{"a name that is null", `,"NodeNames":[null]`, "NodeNames: element 0 is not a string"},
		{"a name with a bare line break", ",\"NodeNames\":[\"a\nb\"]", "NodeNames: element 0 is not a string"},
		{"names that are one string", `,"NodeNames":"a"`, "NodeNames: "},
		{"names that are not closed", `,"NodeNames":["a"}`, "NodeNames: "},
		{"nodes that are an array", `,"Nodes":[]`, "Nodes: "},
		{"nodes whose items are one node", `,"Nodes":{"items":{"metadata":{"name":"a"}}}`, "Nodes: "},
		{"a node given twice", `,"Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]}`, `Nodes: "a" is given twice`},
		{"a node without name", `,"Nodes":{"items":[{}]}`, "Nodes: element 0 has no name"},
		{"a node that is a string", `,"Nodes":{"items":["a"]}`, "Nodes: items[0]: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range argsVerbs {
				w := post(extender.New(config(smallWorld())), path, []byte(`{"Pod":`+onePod+c.members+`}`))
				require.Equal(t, http.StatusBadRequest, w.Code, path)
				require.Contains(t, requireErrorText(t, w.Body.Bytes()), c.text, path)
			}
		})
	}
}

func TestSoundBodiesOfAnotherVersion(t *testing.T) {
	for name, body := range map[string]string{
		"unknown members":        `{"Pod":` + onePod + `,"NodeNames":["open"],"Hints":{"x":["]}"]},"More":null}`,
		"lower case":             `{"pod":` + onePod + `,"nodenames":["open"]}`,
		"names that are escaped": `{"Pod":` + onePod + `,"NodeNames":["\u006fpen"]}`,
		"words that begin as a number does": `{"Pod":{"metadata":{"uid":"u1","labels":{"a":"x1e-12345","b":"1e-12345x","c":"1e12345",
			"d":"1e-123"}},"spec":{"overhead":{"cpu":"1e-3"}}},"NodeNames":["open"]}`,
		"unknown fields of the pod": `{"Pod":{"metadata":{"uid":"u1"},"spec":{"invented":1}},"NodeNames":[ "open" ]}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range argsVerbs {
				w := post(extender.New(config(smallWorld())), path, []byte(body))
				require.Equal(t, http.StatusOK, w.Code, w.Body.String())
				require.Contains(t, w.Body.String(), `"open"`)
			}
		})
	}
}

func TestLargeBodies(t *testing.T) {
	cfg := config(smallWorld())
	cfg.MaxBody = 11 << 20
	h := extender.New(cfg)
	for _, path := range allVerbs {
		w := post(h, path, bytes.Repeat([]byte("["), 10<<20))
		require.Equal(t, http.StatusBadRequest, w.Code, path)
		w = post(h, path, bytes.Repeat([]byte("["), 11<<20+1))
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, path)
		require.Contains(t, requireErrorText(t, w.Body.Bytes()), "11534336 bytes")
	}
}

// A body without a length is cut off where the cap is, not believed.
func TestLargeBodyOfUnknownLength(t *testing.T) {
	cfg := config(smallWorld())
	cfg.MaxBody = 1 << 10
	r := httptest.NewRequest(http.MethodPost, "/place/filter", bytes.NewReader(make([]byte, 1<<20)))
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	extender.New(cfg).ServeHTTP(w, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

func TestWrongMethodPathAndMediaType(t *testing.T) {
	h := extender.New(config(smallWorld()))
	do := func(method, path, mediaType string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Header.Set("Content-Type", mediaType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		requireErrorText(t, w.Body.Bytes())
		return w
	}
	for _, path := range allVerbs {
		w := do(http.MethodGet, path, "application/json")
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, http.MethodPost, w.Header().Get("Allow"))
		require.Equal(t, http.StatusUnsupportedMediaType, do(http.MethodPost, path, "text/plain").Code)
		require.Equal(t, http.StatusUnsupportedMediaType, do(http.MethodPost, path, "").Code)
		require.Equal(t, http.StatusBadRequest, do(http.MethodPost, path, "application/json; charset=utf-8").Code)
	}
	w := do(http.MethodPost, "/healthz", "application/json")
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, http.MethodGet, w.Header().Get("Allow"))
	require.Equal(t, http.StatusNotFound, do(http.MethodPost, "/place/bind", "application/json").Code)
	require.Equal(t, http.StatusNotFound, do(http.MethodPost, "/", "application/json").Code)
}
