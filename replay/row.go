package replay

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// row is one row of a CSV file. The first value that cannot be used is kept as its error.
type row struct {
	file    string
	line    int
	columns []string
	values  []string
	err     *RowError
}

func newRow(file string, line int, columns, values []string) *row {
	return &row{file: file, line: line, columns: columns, values: values}
}

// bad notes that a value cannot be used, and what could.
func (r *row) bad(column, want string) {
	if r.err == nil {
		r.err = &RowError{File: r.file, Line: r.line, Column: column, Value: r.text(column), Want: want}
	}
}

// text is the value as it stands; a column that is not there is empty.
func (r *row) text(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.values[i]
	}
	return ""
}

// maxSeconds is about three hundred years: the most a time.Duration holds.
const maxSeconds = 9e9

// time reads seconds; empty is not given.
func (r *row) time(column string) (d time.Duration, given bool) {
	text := r.text(column)
	if text == "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > maxSeconds {
		r.bad(column, fmt.Sprintf("seconds from 0 to %g", maxSeconds))
		return 0, false
	}
	return time.Duration(math.Round(v*1e3)) * time.Millisecond, true
}

// count reads a whole number from 0 to most; empty is 0.
func (r *row) count(column string, most int64) int64 {
	text := r.text(column)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v > most {
		r.bad(column, fmt.Sprintf("a whole number from 0 to %d", most))
		return 0
	}
	return v
}

// selector reads `key=value` and `key` (which means `key=true`), joined by `;`.
func (r *row) selector(column string) map[string]string {
	text := r.text(column)
	if text == "" {
		return nil
	}
	labels := map[string]string{}
	for _, entry := range strings.Split(text, ";") {
		key, value, given := strings.Cut(entry, "=")
		if !given {
			value = "true"
		}
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			r.bad(column, "labels as key=value or key, joined by ;")
			return nil
		}
		labels[key] = value
	}
	return labels
}

// name reads an object's name; empty takes the one given.
func (r *row) name(column, otherwise string) string {
	text := r.text(column)
	if text == "" {
		return otherwise
	}
	if len(validation.IsDNS1123Subdomain(text)) > 0 || len(text) > 200 {
		r.bad(column, "at most 200 lower-case letters, digits, '-' and '.', as Kubernetes names objects")
		return otherwise
	}
	return text
}

// words reads label values joined by `|`, each once.
func (r *row) words(column string) []string {
	text := r.text(column)
	if text == "" {
		return nil
	}
	words := strings.Split(text, "|")
	for _, w := range words {
		if w == "" || len(validation.IsValidLabelValue(w)) > 0 {
			r.bad(column, "label values joined by |")
			return nil
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
