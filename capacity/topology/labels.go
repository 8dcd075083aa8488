package topology

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"unique"
)

// Labels is a set of labels, eight bytes large: pods with the same labels share one text. Two sets are equal exactly when
// the values are. The zero value is the empty set. It satisfies labels.Labels, so that selectors match it.
type Labels struct{ text unique.Handle[string] }

// LabelsOf takes in a map of labels.
func LabelsOf(m map[string]string) Labels {
	if len(m) == 0 {
		return Labels{}
	}
	b := make([]byte, 0, 64*len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b = appendText(b, key)
		b = appendText(b, m[key])
	}
	return Labels{unique.Make(string(b))}
}

// appendText writes the length too, so that no two sequences of texts read alike.
func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// All are the labels by key.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if l == (Labels{}) {
			return
		}
		for rest := l.text.Value(); rest != ""; {
			var key, value string
			key, rest = cutText(rest)
			value, rest = cutText(rest)
			if !yield(key, value) {
				return
			}
		}
	}
}

func cutText(s string) (text, rest string) {
	n, at := uint64(0), 0
	for shift := 0; ; shift += 7 {
		b := s[at]
		at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	return s[at : at+int(n)], s[at+int(n):]
}

// only is the part of the set that has certain keys.
func (l Labels) only(keys map[string]bool) Labels {
	b := make([]byte, 0, 64)
	whole := true
	for key, value := range l.All() {
		if !keys[key] {
			whole = false
			continue
		}
		b = appendText(b, key)
		b = appendText(b, value)
	}
	switch {
	case whole:
		return l
	case len(b) == 0:
		return Labels{}
	}
	return Labels{unique.Make(string(b))}
}

// Lookup finds the value of a label.
func (l Labels) Lookup(label string) (value string, exists bool) {
	for key, value := range l.All() {
		if key == label {
			return value, true
		}
	}
	return "", false
}

// Has says whether the label is set.
func (l Labels) Has(label string) bool {
	_, ok := l.Lookup(label)
	return ok
}

// Get is the value of a label, empty where it is not set.
func (l Labels) Get(label string) string {
	value, _ := l.Lookup(label)
	return value
}

// Namespaces are the labels of the namespaces that exist, by name.
type Namespaces map[string]map[string]string
