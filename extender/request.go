package extender

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// request is an ExtenderArgs: a pod, and the nodes that are left for it.
type request struct {
	names []string
	// nodes are the nodes themselves, in the order of names, where the caller sent whole nodes (nodeCacheCapable: false).
	nodes []node
	whole bool
}

// node is what a verb needs of a node that came with the call.
type node struct {
	object corev1.Node // name and taints only
	raw    []byte      // as it came
}

// fields splits an object into its members by the names the caller may use. encoding/json, at the other end, ignores
// case, and so do we; unknown members are from a newer scheduler and only have to be JSON.
func fields(body []byte, known ...string) (map[string][]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, bad("body", "empty")
	}
	if !utf8.Valid(body) {
		return nil, bad("body", "not valid UTF-8")
	}
	found := make(map[string][]byte, len(known))
	s := scanner{data: body}
	err := s.object(func(key string, raw []byte) error { return sortField(found, known, key, raw) })
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, bad("body", "%v", err)
	}
	return found, nil
}

func sortField(found map[string][]byte, known []string, key string, raw []byte) error {
	for _, name := range known {
		if !strings.EqualFold(name, key) {
			continue
		}
		if _, twice := found[name]; twice {
			return fmt.Errorf("%s is given twice", name)
		}
		found[name] = raw
		return nil
	}
	if !json.Valid(raw) {
		return fmt.Errorf("not JSON: the value of %q", key)
	}
	return nil
}

func given(raw []byte) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// readRequest decodes an ExtenderArgs, its pod by the way that the caller gives.
func readRequest[P any](body []byte, read func(raw []byte) (P, error)) (pod P, r request, err error) {
	members, err := fields(body, "Pod", "Nodes", "NodeNames")
	if err != nil {
		return pod, r, err
	}
	if pod, err = read(members["Pod"]); err != nil {
		return pod, r, err
	}
	r, err = readOffered(members)
	return pod, r, err
}

func readOffered(members map[string][]byte) (r request, err error) {
	nodes, names := members["Nodes"], members["NodeNames"]
	switch {
	case given(nodes) && given(names):
		return request{}, bad("Nodes, NodeNames", "one of them belongs here, not both")
	case given(names):
		r.names, err = readNames(names)
	case given(nodes):
		r.whole = true
		r.nodes, r.names, err = readNodes(nodes)
	default:
		return request{}, bad("NodeNames", "missing, and so is Nodes; one of them belongs here")
	}
	return r, err
}
