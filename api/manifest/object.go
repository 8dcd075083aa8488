package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object is one object of a file: its text as JSON, and where it stands.
type object struct {
	file       string
	apiVersion string
	kind       string
	name       string
	namespace  string
	hasItems   bool
	raw        []byte // JSON
	place      *place
}

// place finds lines. JSON is parsed into nodes only when a line is first asked for.
type place struct {
	node *yaml.Node
	text []byte // of a JSON object
	base int    // lines before text
}

// newObject reads what every object has. It reports a value of another shape, and an object without a kind.
func newObject(file string, raw []byte, at *place) (object, Errors) {
	o := object{file: file, raw: raw, place: at}
	var header struct {
		APIVersion any             `json:"apiVersion"`
		Kind       any             `json:"kind"`
		Metadata   any             `json:"metadata"`
		Items      json.RawMessage `json:"items"`
	}
	if err := utiljson.Unmarshal(raw, &header); err != nil {
		return o, Errors{o.problem("", "must be an object with apiVersion and kind")}
	}
	o.hasItems = header.Items != nil
	var ok bool
	if o.apiVersion, ok = header.APIVersion.(string); !ok || o.apiVersion == "" {
		return o, Errors{o.problem("apiVersion", "Required value: a text such as v1 or muster.sh/v1alpha1")}
	}
	if o.kind, ok = header.Kind.(string); !ok || o.kind == "" {
		return o, Errors{o.problem("kind", "Required value: a text such as Pod or NodePool")}
	}
	if meta, ok := header.Metadata.(map[string]any); ok {
		o.name, _ = meta["name"].(string)
		o.namespace, _ = meta["namespace"].(string)
	}
	return o, nil
}

// group of the object's API version; empty for the core group.
func (o object) group() string {
	group, _, found := strings.Cut(o.apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// groupKind is how the object's kind is counted and named: Pod, Deployment.apps.
func (o object) groupKind() string {
	if group := o.group(); group != "" {
		return o.kind + "." + group
	}
	return o.kind
}

func (o object) String() string {
	switch {
	case o.name == "":
		return o.kind
	case o.namespace == "":
		return o.kind + " " + o.name
	}
	return o.kind + " " + o.namespace + "/" + o.name
}

// problem is an error about the field at path.
func (o object) problem(path, format string, args ...any) Error {
	e := Error{File: o.file, Line: o.place.line(path), Field: path, Problem: fmt.Sprintf(format, args...)}
	if o.kind != "" {
		e.Object = o.String()
	}
	return e
}
