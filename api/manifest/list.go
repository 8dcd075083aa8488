package manifest

import "strings"

// isList says whether an object of this kind is a list of objects: List as kubectl writes it, or PodList and the like as
// the API server does. A kind of somebody's own may end in List and have no items.
func isList(kind string, hasItems bool) bool {
	return kind == "List" || strings.HasSuffix(kind, "List") && hasItems
}

// itemKind is the kind of the items of a typed list; empty for List, whose items name their own.
func itemKind(list string) string { return strings.TrimSuffix(list, "List") }

func isListField(name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata", "items":
		return true
	}
	return false
}
