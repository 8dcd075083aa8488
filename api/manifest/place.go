package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// line of the field at path, such as spec.containers[0].image; for a field that is not there, the line of the nearest
// object around it that is.
func (p *place) line(path string) int {
	if p.node == nil {
		p.node = parseText(p.text)
	}
	node := content(p.node)
	if node == nil {
		return p.base + 1
	}
	line := node.Line
	for node != nil && path != "" {
		var at int
		node, at, path = step(node, path)
		if node != nil {
			line = at
		}
	}
	return p.base + line
}

func parseText(text []byte) *yaml.Node {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Line: 1} // JSON that is no YAML: the first line must do
	}
	return &document
}

// step goes one field down. Keys may hold dots and brackets, so the longest key that starts the path is taken.
func step(node *yaml.Node, path string) (next *yaml.Node, line int, rest string) {
	node = content(node)
	if node == nil {
		return nil, 0, ""
	}
	switch node.Kind {
	case yaml.SequenceNode:
		return stepItem(node, path)
	case yaml.MappingNode:
		return stepKey(node, path)
	default:
		return nil, 0, ""
	}
}

func stepItem(node *yaml.Node, path string) (next *yaml.Node, line int, rest string) {
	number, rest, found := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(number)
	if !found || err != nil || i < 0 || i >= len(node.Content) {
		return nil, 0, ""
	}
	return node.Content[i], node.Content[i].Line, strings.TrimPrefix(rest, ".")
}

func stepKey(node *yaml.Node, path string) (next *yaml.Node, line int, rest string) {
	longest := -1
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if after, ok := afterKey(path, key.Value); ok && len(key.Value) > longest {
			longest = len(key.Value)
			next, line, rest = node.Content[i+1], key.Line, after
		}
	}
	return next, line, rest
}

// afterKey takes key off the start of path, spelled as key, or [key] for a map's key.
func afterKey(path, key string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, "["+key+"]"); !ok {
		rest, ok = strings.CutPrefix(path, key)
	}
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// content looks through documents and aliases.
func content(node *yaml.Node) *yaml.Node {
	for hops := 0; node != nil && hops < maxDepth; hops++ {
		switch {
		case node.Kind == yaml.DocumentNode && len(node.Content) > 0:
			node = node.Content[0]
		case node.Kind == yaml.AliasNode:
			node = node.Alias
		default:
			return node
		}
	}
	return nil
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }

func child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
