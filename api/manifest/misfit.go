package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// misfit finds the field that made the decoder fail; the decoder itself tells no path for quantities, times and other
// types that decode themselves.
func (o object) misfit(out any, cause error) Error {
	var content any
	if err := utiljson.Unmarshal(o.raw, &content); err != nil {
		return o.problem("", "%v", err)
	}
	path, problem := mismatch(reflect.TypeOf(out), content, "")
	if problem == "" {
		return o.problem("", "%v", cause)
	}
	return o.problem(path, "%s", problem)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// mismatch walks a type and a value side by side and describes the first value (by path) that does not fit its type.
func mismatch(t reflect.Type, value any, path string) (at, problem string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || t.Kind() == reflect.Interface {
		return "", ""
	}
	if !reflect.PointerTo(t).Implements(unmarshaler) {
		switch v := value.(type) {
		case map[string]any:
			if t.Kind() == reflect.Struct || t.Kind() == reflect.Map {
				return mismatchInside(t, v, path)
			}
		case []any:
			if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
				return mismatchItem(t, v, path)
			}
		}
	}
	text, err := json.Marshal(value)
	if isSlow(t, text) {
		return path, fmt.Sprintf("Invalid value: %s: must be %s", shorten(text), expectation(t))
	}
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return "", ""
	}
	return path, fmt.Sprintf("Invalid value: %s: must be %s", shorten(text), expectation(t))
}

func mismatchInside(t reflect.Type, object map[string]any, path string) (at, problem string) {
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = jsonFields(t)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		inner, below := fields[key], join(path, key)
		if t.Kind() == reflect.Map {
			inner, below = t.Elem(), path+"["+key+"]"
		}
		if inner == nil {
			continue
		}
		if at, problem = mismatch(inner, object[key], below); problem != "" {
			return at, problem
		}
	}
	return "", ""
}

func mismatchItem(t reflect.Type, items []any, path string) (at, problem string) {
	for i, item := range items {
		if at, problem = mismatch(t.Elem(), item, fmt.Sprintf("%s[%d]", path, i)); problem != "" {
			return at, problem
		}
	}
	return "", ""
}

// jsonFields are the fields of a struct by their name in JSON, those of inlined structs among them.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			maps.Copy(fields, jsonFields(inner))
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}

// fieldsAt are the names that may stand beside the field at path.
func fieldsAt(out any, path string) []string {
	t := reflect.TypeOf(out)
	for rest := parent(path); ; {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if rest == "" {
			break
		}
		var name string
		if name, rest = firstStep(rest); name == "" && t.Kind() == reflect.Slice {
			t = t.Elem()
		} else if t.Kind() == reflect.Struct && jsonFields(t)[name] != nil {
			t = jsonFields(t)[name]
		} else {
			return nil
		}
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return slices.Collect(maps.Keys(jsonFields(t)))
}

// firstStep takes a field's name, or an index (the name is empty then), off the start of a path.
func firstStep(path string) (name, rest string) {
	if path[0] == '[' {
		_, rest, _ = strings.Cut(path, "]")
		return "", strings.TrimPrefix(rest, ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// expectation says in words what a type accepts.
func expectation(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return quantityText
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2026-01-31T13:30:00Z"
	case reflect.TypeFor[metav1.Duration]():
		return "a duration such as 90s or 10m"
	case reflect.TypeFor[Moment]():
		return "a duration such as 90m or 24h, or a time of the day such as 08:00"
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a text"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.String:
		return "a text: quote it"
	}
	return "a " + t.Kind().String()
}

// shorten keeps a wrong value readable in a message.
func shorten(text []byte) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "..."
}
