package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors is how many errors are printed; a broken generator of manifests makes one mistake thousands of times.
const maxErrors = 20

// Error is one mistake in a file.
type Error struct {
	File    string
	Line    int    // from 1; 0 where the whole file is meant
	Field   string // path of the field, for example spec.limits.maxNodes; may be empty
	Problem string // what is wrong, and what would be accepted
	Object  string // kind and name, if known
}

func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Problem)
	if e.Object != "" {
		b.WriteString(" (" + e.Object + ")")
	}
	return b.String()
}

// Errors are all mistakes found, by file in the order given, then by line.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, 0, len(e))
	for i, one := range e {
		if i == maxErrors {
			lines = append(lines, fmt.Sprintf("and %d more", len(e)-maxErrors))
			break
		}
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// orNil is e as an error: nil when there is none.
func (e Errors) orNil(sources []source) error {
	if len(e) == 0 {
		return nil
	}
	order := make(map[string]int, len(sources))
	for i, s := range sources {
		order[s.file] = i
	}
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Field, b.Field))
	})
	return slices.Compact(e)
}
