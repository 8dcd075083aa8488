package manifest

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Bounds on what a document may be, against input that is small on disk and large in memory.
const (
	maxDepth   = 100     // levels of nesting; no object of Kubernetes has half of it
	maxAliased = 1 << 18 // values that stand in the document only by way of an alias
)

// treeError is a mistake in the document's structure.
type treeError struct {
	line    int
	problem string
}

// toJSON writes the value at node as JSON, with the meaning that kubectl gives to YAML: plain yes, no, on and off are
// booleans, times are texts, keys are texts.
func toJSON(node *yaml.Node) ([]byte, *treeError) {
	w := writer{}
	w.value(node, 0)
	return w.out, w.err
}

// writer stops at the first error.
type writer struct {
	out     []byte
	err     *treeError
	inAlias int
	aliased int
}

func (w *writer) fail(node *yaml.Node, format string, args ...any) {
	if w.err == nil {
		w.err = &treeError{line: node.Line, problem: fmt.Sprintf(format, args...)}
	}
}

func (w *writer) value(node *yaml.Node, depth int) {
	if w.inAlias > 0 {
		w.aliased++
	}
	switch {
	case w.err != nil:
	case depth > maxDepth:
		w.fail(node, "nested deeper than %d levels", maxDepth)
	case w.aliased > maxAliased:
		w.fail(node, "aliases stand for more than %d values", maxAliased)
	case node.Kind == yaml.AliasNode:
		w.inAlias++
		w.value(node.Alias, depth+1)
		w.inAlias--
	case node.Kind == yaml.DocumentNode:
		w.value(node.Content[0], depth)
	case node.Kind == yaml.MappingNode:
		w.mapping(node, depth)
	case node.Kind == yaml.SequenceNode:
		w.sequence(node, depth)
	default:
		w.scalar(node)
	}
}

func (w *writer) sequence(node *yaml.Node, depth int) {
	w.out = append(w.out, '[')
	for i, item := range node.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.value(item, depth+1)
	}
	w.out = append(w.out, ']')
}

func (w *writer) mapping(node *yaml.Node, depth int) {
	w.out = append(w.out, '{')
	seen := make(map[string]int, len(node.Content)/2)
	w.pairs(node, seen, depth, false)
	w.out = append(w.out, '}')
}

// pairs writes the fields of a mapping, then those that a merge key (<<) brings and that are not there yet.
func (w *writer) pairs(node *yaml.Node, seen map[string]int, depth int, merged bool) {
	var merges []*yaml.Node
	for i := 0; i+1 < len(node.Content) && w.err == nil; i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		w.pair(key, value, seen, depth, merged)
	}
	for _, m := range merges {
		w.merge(m, seen, depth+1)
	}
}

func (w *writer) pair(key, value *yaml.Node, seen map[string]int, depth int, merged bool) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || isOldBool(key) {
		w.fail(key, "a key must be a text: quote it")
		return
	}
	first := seen[key.Value]
	switch {
	case first > 0 && merged:
		return
	case first > 0:
		w.fail(key, "%s", doubled(key.Value, first))
		return
	}
	if len(seen) > 0 {
		w.out = append(w.out, ',')
	}
	seen[key.Value] = max(key.Line, 1)
	w.text(key.Value)
	w.out = append(w.out, ':')
	w.value(value, depth+1)
}

func (w *writer) merge(node *yaml.Node, seen map[string]int, depth int) {
	if w.aliased++; w.aliased > maxAliased || depth > maxDepth {
		w.fail(node, "merge keys are nested too deep or stand for too many values")
		return
	}
	w.inAlias++
	defer func() { w.inAlias-- }()
	switch node.Kind {
	case yaml.AliasNode:
		w.merge(node.Alias, seen, depth+1)
	case yaml.MappingNode:
		w.pairs(node, seen, depth, true)
	case yaml.SequenceNode:
		for _, one := range node.Content {
			w.merge(one, seen, depth+1)
		}
	default:
		w.fail(node, "a merge key needs an object")
	}
}

func (w *writer) text(s string) {
	encoded, err := json.Marshal(s)
	if err != nil { // no string fails
		panic(err)
	}
	w.out = append(w.out, encoded...)
}
