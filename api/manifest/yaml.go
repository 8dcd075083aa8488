package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxYAMLBytes keeps memory within a few gigabytes: a parsed document takes some 25 times its text.
const maxYAMLBytes = 128 << 20

// yamlLine finds the line in an error text of the YAML parser, which has no other way to tell.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// readYAML reads the objects of all documents. A document that cannot be parsed ends the file.
func readYAML(file string, text []byte) ([]object, Errors) {
	if len(text) > maxYAMLBytes {
		return nil, Errors{{File: file, Problem: fmt.Sprintf("too large: at most %d MiB of YAML are read; JSON may have more", maxYAMLBytes>>20)}}
	}
	var found []object
	var errs Errors
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found, errs
		}
		if err != nil {
			return found, append(errs, syntaxError(file, err))
		}
		objects, problems := yamlObjects(file, &document, 0)
		found, errs = append(found, objects...), append(errs, problems...)
	}
}

func syntaxError(file string, err error) Error {
	e := Error{File: file, Problem: "not YAML: " + err.Error()}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Problem = "not YAML: " + m[2]
	}
	return e
}

// yamlObjects lists the object at node or, if it is a List, the objects in it.
func yamlObjects(file string, node *yaml.Node, level int) ([]object, Errors) {
	node = content(node)
	if node == nil || isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.MappingNode {
		return nil, Errors{{File: file, Line: node.Line, Problem: "must be an object with apiVersion and kind"}}
	}
	if kind := child(node, "kind"); kind != nil && isList(kind.Value, child(node, "items") != nil) && level < maxDepth {
		return yamlList(file, node, level)
	}
	raw, err := toJSON(node)
	if err != nil {
		return nil, Errors{{File: file, Line: err.line, Problem: err.problem}}
	}
	o, errs := newObject(file, raw, &place{node: node})
	if len(errs) > 0 {
		return nil, errs
	}
	return []object{o}, nil
}

func yamlList(file string, list *yaml.Node, level int) ([]object, Errors) {
	if problem, line := strangeInList(list); problem != "" {
		return nil, Errors{{File: file, Line: line, Problem: problem}}
	}
	items := content(child(list, "items"))
	if items == nil || items.Kind != yaml.SequenceNode && !isNull(items) {
		return nil, Errors{{File: file, Line: list.Line, Problem: "items: Required value: a list of objects"}}
	}
	var found []object
	var errs Errors
	for _, item := range items.Content {
		completeItem(list, content(item))
		objects, problems := yamlObjects(file, item, level+1)
		found, errs = append(found, objects...), append(errs, problems...)
	}
	return found, errs
}

func strangeInList(list *yaml.Node) (problem string, line int) {
	seen := map[string]int{}
	for i := 0; i < len(list.Content); i += 2 {
		key := list.Content[i]
		if first := seen[key.Value]; first > 0 {
			return doubled(key.Value, first), key.Line
		}
		seen[key.Value] = key.Line
		if !isListField(key.Value) {
			return key.Value + ": Unknown field: a List has apiVersion, kind, metadata and items", key.Line
		}
	}
	return "", 0
}

// completeItem gives the item of a typed list (PodList) the kind that the list's own kind implies.
func completeItem(list, item *yaml.Node) {
	kind := itemKind(child(list, "kind").Value)
	version := child(list, "apiVersion")
	if kind == "" || version == nil || item == nil || item.Kind != yaml.MappingNode || child(item, "kind") != nil {
		return
	}
	item.Content = append(item.Content, scalar("kind", item), scalar(kind, item))
	if child(item, "apiVersion") == nil {
		item.Content = append(item.Content, scalar("apiVersion", item), scalar(version.Value, item))
	}
}

func scalar(value string, at *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: at.Line}
}

func doubled(key string, first int) string {
	return fmt.Sprintf("%s: Duplicate field: it stands in line %d already", key, first)
}
