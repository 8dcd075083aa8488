package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Reading a quantity, or comparing it, takes time in the square of its digits and of its exponent: 1e-10000000, eleven
// bytes, take seconds. No quantity that means something is near these bounds.
const longestQuantity = 64 // bytes

var (
	slowAnywhere = regexp.MustCompile(`[eE][-+]?[0-9]{4}|[0-9.]{65}`)
	slowQuantity = regexp.MustCompile(`^[-+]?[0-9.]*[eE][-+]?[0-9]{4}`)
)

// slow finds a quantity that would take long to read, before anybody reads it.
func (o object) slow(t reflect.Type) Errors {
	if !slowAnywhere.Match(o.raw) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(o.raw))
	decoder.UseNumber() // as written
	var content any
	if err := decoder.Decode(&content); err != nil {
		return Errors{o.problem("", "%v", err)}
	}
	if path, problem := mismatch(t, content, ""); problem != "" {
		return Errors{o.problem(path, "%s", problem)}
	}
	return nil
}

func isSlow(t reflect.Type, text []byte) bool {
	if t != reflect.TypeFor[resource.Quantity]() {
		return false
	}
	number := bytes.Trim(text, `"`)
	return len(number) > longestQuantity || slowQuantity.Match(number)
}
