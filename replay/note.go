package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Note is one thing that happened.
type Note struct {
	At      time.Time `json:"-"`
	Kind    string    `json:"kind"` // Pod, Node, NodeClaim, NodePool or Provider
	Name    string    `json:"name"`
	Reason  string    `json:"reason"` // CamelCase: an event's reason, or what became of the object
	Message string    `json:"message,omitempty"`
	Warning bool      `json:"warning,omitempty"`
}

// What becomes of objects, where no event says so.
const (
	NoteArrived  = "Arrived"
	NoteBound    = "Bound"
	NoteFinished = "Finished"
	NoteDeleted  = "Deleted"
	NoteReady    = "NodeReady"
	NoteGone     = "Gone"
)

// note tells of the changes that a story is made of.
func (w *World) note(c change) {
	switch o := c.object().(type) {
	case *corev1.Pod:
		old, _ := c.old.(*corev1.Pod)
		if reason, message := podNote(c, old, o); reason != "" {
			w.options.Note(Note{At: w.agenda.now, Kind: "Pod", Name: o.Name, Reason: reason, Message: message})
		}
	case *corev1.Node:
		old, _ := c.old.(*corev1.Node)
		switch {
		case c.gone():
			w.options.Note(Note{At: w.agenda.now, Kind: "Node", Name: o.Name, Reason: NoteGone})
		case nodeReady(o) && (old == nil || !nodeReady(old)):
			w.options.Note(Note{At: w.agenda.now, Kind: "Node", Name: o.Name, Reason: NoteReady})
		}
	case *v1alpha1.NodeClaim:
		old, _ := c.old.(*v1alpha1.NodeClaim)
		if c.gone() {
			w.options.Note(Note{At: w.agenda.now, Kind: "NodeClaim", Name: o.Name, Reason: NoteGone})
		} else if old != nil && old.Status.State != o.Status.State {
			w.options.Note(Note{
				At: w.agenda.now, Kind: "NodeClaim", Name: o.Name, Reason: string(o.Status.State), Message: o.Status.Message,
			})
		}
	}
}

func podNote(c change, old, p *corev1.Pod) (reason, message string) {
	switch {
	case c.gone() && !finished(p):
		return NoteDeleted, ""
	case c.gone():
		return "", ""
	case old == nil:
		return NoteArrived, ""
	case old.Spec.NodeName == "" && p.Spec.NodeName != "":
		return NoteBound, "to node " + p.Spec.NodeName
	case !finished(old) && finished(p):
		return NoteFinished, ""
	}
	return "", ""
}
