package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// extenderClient calls a handler in this process with the bytes that kube-scheduler's HTTPExtender would send, and reads
// the answer as it does (pkg/scheduler/extender.go, nodeCacheCapable).
type extenderClient struct {
	handler func() http.Handler // nil while nobody listens

	names   []string
	encoded []byte // the names, as JSON
	body    bytes.Buffer
	answer  answer
}

var errRefusedConnection = errors.New("connect: connection refused")

// filtered is what is left of an ExtenderFilterResult.
type filtered struct {
	nodes   []string
	reasons map[string]int // how many nodes were refused for each reason
}

// filter asks which of the nodes the pod may go to.
func (c *extenderClient) filter(pod *corev1.Pod, nodes []string) (filtered, error) {
	handler := c.handler()
	if handler == nil {
		return filtered{}, errRefusedConnection
	}
	if err := c.encode(pod, nodes); err != nil {
		return filtered{}, err
	}
	req, err := http.NewRequest(http.MethodPost, "http://muster/place/filter", &c.body)
	if err != nil {
		return filtered{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	c.answer.reset()
	handler.ServeHTTP(&c.answer, req)
	if c.answer.code != http.StatusOK {
		return filtered{}, fmt.Errorf("failed filter with extender at URL http://muster/place, code %d", c.answer.code)
	}
	var result extenderv1.ExtenderFilterResult
	if err := json.Unmarshal(c.answer.body.Bytes(), &result); err != nil {
		return filtered{}, err
	}
	return read(result, nodes)
}

func read(r extenderv1.ExtenderFilterResult, asked []string) (filtered, error) {
	if r.Error != "" {
		return filtered{}, errors.New(r.Error)
	}
	f := filtered{reasons: map[string]int{}}
	if r.NodeNames != nil {
		f.nodes = *r.NodeNames
	}
	for _, name := range f.nodes {
		if _, ok := slices.BinarySearch(asked, name); !ok {
			return filtered{}, fmt.Errorf("extender claims a filtered node %q which is not found in the input node list", name)
		}
	}
	for _, refused := range []extenderv1.FailedNodesMap{r.FailedNodes, r.FailedAndUnresolvableNodes} {
		for _, reason := range refused {
			f.reasons[reason]++
		}
	}
	return f, nil
}

// encode writes the ExtenderArgs. The names are the same for many pods, so their text is kept.
func (c *extenderClient) encode(pod *corev1.Pod, nodes []string) error {
	if c.encoded == nil || !slices.Equal(c.names, nodes) {
		names, err := json.Marshal(nodes)
		if err != nil {
			return err
		}
		c.names, c.encoded = slices.Clone(nodes), names
	}
	text, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	c.body.Reset()
	c.body.WriteString(`{"Pod":`)
	c.body.Write(text)
	c.body.WriteString(`,"Nodes":null,"NodeNames":`)
	c.body.Write(c.encoded)
	c.body.WriteString(`}`)
	return nil
}

// answer is the http.ResponseWriter of a call in process.
type answer struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) reset() {
	a.code, a.header = 0, http.Header{}
	a.body.Reset()
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// fitError is the message of a pod that no node took, as kube-scheduler writes it.
func fitError(nodes int, reasons map[string]int) string {
	parts := make([]string, 0, len(reasons))
	for reason, count := range reasons {
		parts = append(parts, strconv.Itoa(count)+" "+reason)
	}
	slices.Sort(parts)
	text := "0/" + strconv.Itoa(nodes) + " nodes are available:"
	if len(parts) > 0 {
		text += " " + strings.Join(parts, ", ") + "."
	}
	return text
}
