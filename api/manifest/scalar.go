package manifest

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

func (w *writer) scalar(node *yaml.Node) {
	if isOldBool(node) {
		w.out = append(w.out, oldBools[node.Value]...)
		return
	}
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		w.text(node.Value)
	case "!!null":
		w.out = append(w.out, "null"...)
	case "!!bool", "!!int", "!!float":
		w.plain(node)
	default:
		w.fail(node, "the tag %s means nothing here", node.Tag)
	}
}

// plain writes a boolean or number.
func (w *writer) plain(node *yaml.Node) {
	var value any
	if err := node.Decode(&value); err != nil {
		w.fail(node, "%q is no number", node.Value)
		return
	}
	encoded, err := json.Marshal(value)
	if err != nil { // infinity, not a number
		w.fail(node, "%q is no number", node.Value)
		return
	}
	w.out = append(w.out, encoded...)
}

// oldBools are the words that YAML 1.1, and so kubectl, takes for booleans; the parser used here takes them for texts.
var oldBools = map[string]string{
	"y": "true", "Y": "true", "yes": "true", "Yes": "true", "YES": "true", "on": "true", "On": "true", "ON": "true",
	"n": "false", "N": "false", "no": "false", "No": "false", "NO": "false", "off": "false", "Off": "false", "OFF": "false",
}

func isOldBool(node *yaml.Node) bool {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if node.Kind != yaml.ScalarNode || node.Style&quoted != 0 {
		return false
	}
	_, old := oldBools[node.Value]
	return old
}
