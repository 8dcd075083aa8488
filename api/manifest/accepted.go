package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// manyFields is up to how many fields are named as accepted; beyond, only the nearest is.
const manyFields = 16

const quantityText = `a quantity such as 500m, 2, "1.5" or 8Gi`

// unknownField reports a field that the object does not have. accepted are those that may stand there.
func (o object) unknownField(path string, accepted []string) Error {
	name := path[len(parent(path)):]
	name = strings.TrimPrefix(name, ".")
	slices.Sort(accepted)
	if near := nearest(name, accepted); near != "" {
		return o.problem(path, "Unknown field: did you mean %s?", near)
	}
	if len(accepted) == 0 || len(accepted) > manyFields {
		return o.problem(path, "Unknown field")
	}
	return o.problem(path, "Unknown field: accepted here: %s", strings.Join(accepted, ", "))
}

// parent of spec.limits.maxNodes is spec.limits; of spec.taints[0].key it is spec.taints[0].
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), 0)]
}

// nearest is the accepted name that differs from name in its case or in at most two letters.
func nearest(name string, accepted []string) string {
	best, least := "", 3
	for _, a := range accepted {
		if strings.EqualFold(a, name) {
			return a
		}
		if d := distance(name, a); d < least && d <= len(a)/2 {
			best, least = a, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace to make a into b (Levenshtein).
func distance(a, b string) int {
	const tooLong = 64
	if len(a) > tooLong || len(b) > tooLong {
		return tooLong
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// schemaAt is the schema of the field at path, or nil.
func schemaAt(s *schema.Structural, path string) *schema.Structural {
	for s != nil && path != "" {
		if path[0] == '[' {
			_, rest, _ := strings.Cut(path, "]")
			path = strings.TrimPrefix(rest, ".")
			s = s.Items
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		if s.AdditionalProperties != nil { // a map's key runs to the end: maps of ours hold plain values
			return s.AdditionalProperties.Structural
		}
		next, ok := s.Properties[path[:end]]
		if !ok {
			return nil
		}
		s, path = &next, strings.TrimPrefix(path[end:], ".")
	}
	return s
}

func propertiesAt(root *schema.Structural, path string) []string {
	s := schemaAt(root, path)
	if s == nil {
		return nil
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	return names
}

// describe says in words what a schema accepts.
func describe(s *schema.Structural) string {
	v := s.ValueValidation
	switch {
	case s.XIntOrString:
		return quantityText
	case v != nil && len(v.Enum) > 0:
		return "one of " + enumText(v.Enum)
	case s.Type == "integer":
		return "a whole number" + bounds(v)
	case s.Type == "boolean":
		return "true or false"
	case s.Type == "array":
		return "a list"
	case s.Type == "object" && s.AdditionalProperties == nil && len(s.Properties) > 0:
		return "an object with " + strings.Join(required(s), ", ")
	case s.Type == "object":
		return "an object"
	case v != nil && strings.Contains(v.Pattern, "(ms|s|m|h)"):
		return "a duration such as 90s or 10m"
	case v != nil && v.Pattern != "":
		return "a text that matches " + v.Pattern
	}
	return "a text"
}

// required names the fields that must be there or, if none must, those that may.
func required(s *schema.Structural) []string {
	if s.ValueValidation != nil && len(s.ValueValidation.Required) > 0 {
		return slices.Sorted(slices.Values(s.ValueValidation.Required))
	}
	names := propertiesAt(s, "")
	slices.Sort(names)
	return names
}

func enumText(enum []schema.JSON) string {
	texts := make([]string, 0, len(enum))
	for _, e := range enum {
		texts = append(texts, fmt.Sprint(e.Object))
	}
	return strings.Join(texts, ", ")
}

func bounds(v *schema.ValueValidation) string {
	switch {
	case v == nil || v.Minimum == nil && v.Maximum == nil:
		return ""
	case v.Maximum == nil:
		return " of at least " + strconv.FormatFloat(*v.Minimum, 'f', -1, 64)
	case v.Minimum == nil:
		return " of at most " + strconv.FormatFloat(*v.Maximum, 'f', -1, 64)
	}
	return fmt.Sprintf(" from %s to %s", strconv.FormatFloat(*v.Minimum, 'f', -1, 64), strconv.FormatFloat(*v.Maximum, 'f', -1, 64))
}
