package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// readJSON reads one or more JSON objects. It is many times faster than the YAML reader on what `kubectl get -o json`
// writes for a large cluster. ok is false if the text is no JSON: it may still be YAML.
func readJSON(file string, text []byte) (found []object, errs Errors, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return found, errs, true
		}
		if err != nil { // the YAML reader tells what is wrong
			return nil, nil, false //nolint:nilerr // ok is the answer
		}
		start := int(decoder.InputOffset()) - len(raw)
		at := &place{text: text[start : start+len(raw)], base: bytes.Count(text[:start], []byte("\n"))}
		objects, problems := jsonObjects(file, at, 0)
		found, errs = append(found, objects...), append(errs, problems...)
	}
}

// jsonObjects lists the object in at.text or, if it is a List, the objects in it.
func jsonObjects(file string, at *place, level int) ([]object, Errors) {
	o, errs := newObject(file, at.text, at)
	if len(errs) > 0 {
		return nil, errs
	}
	if !isList(o.kind, o.hasItems) || level >= maxDepth {
		return []object{o}, nil
	}
	items, problem := jsonItems(at)
	if problem != "" {
		return nil, Errors{o.problem("", "%s", problem)}
	}
	var found []object
	for _, item := range items {
		objects, problems := jsonObjects(file, completeText(o, item), level+1)
		found, errs = append(found, objects...), append(errs, problems...)
	}
	return found, errs
}

// jsonItems finds the text of each item of a List and counts the lines before it.
func jsonItems(list *place) (items []*place, problem string) {
	decoder := json.NewDecoder(bytes.NewReader(list.text))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, err.Error()
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err.Error()
		}
		key, _ := token.(string)
		switch {
		case !isListField(key):
			return nil, key + ": Unknown field: a List has apiVersion, kind, metadata and items"
		case seen[key]:
			return nil, key + ": Duplicate field"
		}
		seen[key] = true
		if key == "items" {
			items, err = itemsOf(decoder, list)
		} else {
			err = decoder.Decode(new(json.RawMessage))
		}
		if err != nil {
			return nil, err.Error()
		}
	}
	if !seen["items"] {
		return nil, "items: Required value: a list of objects"
	}
	return items, ""
}

// itemsOf reads the array that the decoder stands before.
func itemsOf(decoder *json.Decoder, list *place) ([]*place, error) {
	token, err := decoder.Token()
	if err != nil || token == nil { // "items": null
		return nil, err
	}
	if token != json.Delim('[') {
		return nil, errors.New("items: must be a list")
	}
	var items []*place
	line, counted := list.base, 0
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, err
		}
		end := int(decoder.InputOffset())
		start := end - len(raw)
		line += bytes.Count(list.text[counted:start], []byte("\n"))
		counted = start
		items = append(items, &place{text: list.text[start:end], base: line})
	}
	_, err = decoder.Token()
	return items, err
}

// completeText gives the item of a typed list (PodList) the kind that the list's own kind implies.
func completeText(list object, item *place) *place {
	kind := itemKind(list.kind)
	var header map[string]json.RawMessage
	if kind == "" || json.Unmarshal(item.text, &header) != nil || header == nil || header["kind"] != nil {
		return item
	}
	prefix := `{"kind":` + quote(kind)
	if header["apiVersion"] == nil {
		prefix += `,"apiVersion":` + quote(list.apiVersion)
	}
	rest := bytes.TrimLeft(item.text[1:], " \t\r\n")
	if rest[0] != '}' {
		prefix += ","
	}
	return &place{text: append([]byte(prefix), item.text[1:]...), base: item.base}
}

func quote(s string) string {
	w := writer{}
	w.text(s)
	return string(w.out)
}
