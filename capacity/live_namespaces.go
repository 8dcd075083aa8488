package capacity

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Namespaces are the labels of each namespace, by its name.
type Namespaces map[string]map[string]string

// SetNamespace takes in a namespace; only its labels matter.
func (l *Live) SetNamespace(n *corev1.Namespace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, known := l.namespaces[n.Name]; known && maps.Equal(old, n.Labels) {
		return
	}
	l.ownNamespaces()
	l.namespaces[n.Name] = n.Labels
	l.changed()
}

// ForgetNamespace drops a namespace that was deleted.
func (l *Live) ForgetNamespace(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.namespaces[name]; !known {
		return
	}
	l.ownNamespaces()
	delete(l.namespaces, name)
	l.changed()
}

// ownNamespaces makes a copy where Views share what there is.
func (l *Live) ownNamespaces() {
	if l.namespacesShared || l.namespaces == nil {
		l.namespaces, l.namespacesShared = maps.Clone(l.namespaces), false
	}
	if l.namespaces == nil {
		l.namespaces = Namespaces{}
	}
}

func (l *Live) viewNamespaces() Namespaces {
	l.namespacesShared = true
	return l.namespaces
}
