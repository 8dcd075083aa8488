package manifest

import "fmt"

// places remembers where each object was first seen.
type places map[string]object

// add reports an object of the same group, kind, namespace and name as an earlier one.
func (p places) add(o object) Errors {
	if o.name == "" {
		return nil // reported as a missing name, or of a kind that is only counted
	}
	key := fmt.Sprintf("%s/%s/%s", o.groupKind(), o.namespace, o.name)
	first, seen := p[key]
	if !seen {
		p[key] = o
		return nil
	}
	return Errors{o.problem("metadata.name", "Duplicate value: %q: it is at %s:%d already",
		o.name, first.file, first.place.line("metadata.name"))}
}

// wrongVersion reports an object of a version that is not read.
func wrongVersion(o object, want string) (Error, bool) {
	if o.apiVersion == want {
		return Error{}, false
	}
	return o.problem("apiVersion", "Unsupported value: %q: %s is read from %s", o.apiVersion, o.kind, want), true
}
