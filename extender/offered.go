package extender

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// readNames reads an array of strings. All names share one copy of the body's text.
func readNames(raw []byte) ([]string, error) {
	text := string(raw)
	names := make([]string, 0, bytes.Count(raw, []byte{','})+1)
	if names, ok := plainNames(names, text); ok {
		return names, nil
	}
	s := scanner{data: raw}
	err := s.list(func(element []byte) error {
		if plain(element) {
			names = append(names, text[s.pos-len(element)+1:s.pos-1])
			return nil
		}
		var escaped *string
		if err := json.Unmarshal(element, &escaped); err != nil || escaped == nil {
			return fmt.Errorf("element %d is not a string", len(names))
		}
		names = append(names, *escaped)
		return nil
	})
	if err != nil {
		return nil, bad("NodeNames", "%v", err)
	}
	return names, nil
}

// plainNames reads the array as kube-scheduler writes it: without white space and escapes. It appends to names.
func plainNames(names []string, text string) ([]string, bool) {
	rest, ok := strings.CutPrefix(text, "[")
	for ok {
		if rest, ok = strings.CutPrefix(rest, `"`); !ok {
			break
		}
		end := 0
		for end < len(rest) && rest[end] != '"' && rest[end] != '\\' && rest[end] >= ' ' {
			end++
		}
		if end+1 >= len(rest) || rest[end] != '"' {
			break
		}
		names = append(names, rest[:end])
		rest = rest[end+1:]
		if rest == "]" {
			return names, true
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return nil, false
}

// plain says whether a value is a string that reads as it is written.
func plain(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '"' {
		return false
	}
	for _, c := range raw[1:] {
		if c < ' ' || c == '\\' {
			return false
		}
	}
	return true
}

// readNodes reads a NodeList, of every node its name and taints.
func readNodes(raw []byte) ([]node, []string, error) {
	var list struct{ Items json.RawMessage }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, bad("Nodes", "%v", err)
	}
	if !given(list.Items) {
		return nil, nil, nil
	}
	var nodes []node
	var names []string
	s := scanner{data: list.Items}
	err := s.list(func(element []byte) error {
		n, err := readNode(element)
		if err != nil {
			return fmt.Errorf("items[%d]: %w", len(nodes), err)
		}
		nodes, names = append(nodes, n), append(names, n.object.Name)
		return nil
	})
	if err != nil {
		return nil, nil, bad("Nodes", "%v", err)
	}
	return nodes, names, nil
}

func readNode(raw []byte) (node, error) {
	var read struct {
		Metadata struct{ Name string }
		Spec     struct{ Taints []corev1.Taint }
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return node{}, err
	}
	n := node{raw: raw}
	n.object.Name, n.object.Spec.Taints = read.Metadata.Name, read.Spec.Taints
	return n, nil
}

// field is where the names came from.
func (r request) field() string {
	if r.whole {
		return "Nodes"
	}
	return "NodeNames"
}

var nameSets = sync.Pool{New: func() any { return map[string]struct{}{} }}

// unique refuses a name that is empty or given twice: kube-scheduler's own list has neither, so the list is not its own.
func unique(r request) error {
	seen := nameSets.Get().(map[string]struct{})
	defer nameSets.Put(seen)
	defer clear(seen)
	for i, name := range r.names {
		if name == "" {
			return bad(r.field(), "element %d has no name", i)
		}
		if seen[name] = struct{}{}; len(seen) != i+1 {
			return bad(r.field(), "%q is given twice", name)
		}
	}
	return nil
}
