package capacity

import (
	"fmt"
	"hash/maphash"
)

// seats gives entries small numbers, so that a table by entry is a slice.
type seats struct {
	free []int
	made int
}

func (s *seats) take() int {
	if n := len(s.free); n > 0 {
		seat := s.free[n-1]
		s.free = s.free[:n-1]
		return seat
	}
	s.made++
	return s.made - 1
}

func (s *seats) give(seat int) { s.free = append(s.free, seat) }

var nameSeed = maphash.MakeSeed()

func hashOf(name string) uint64 { return maphash.String(nameSeed, name) }

// OfferError says that a call offers a node twice, or one without a name. kube-scheduler's own list has neither, so the
// list is not its own.
type OfferError struct {
	Index int
	Name  string
}

// Error names the node.
func (e *OfferError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("element %d has no name", e.Index)
	}
	return fmt.Sprintf("%q is given twice", e.Name)
}

// seat finds the entries of the nodes of a call, nil where there is none. The scheduler lists its nodes in nearly the same
// order every time, so each entry remembers what followed it, and most names are only compared, not looked up.
func (l *Live) seat(names []string) ([]*entry, offer, error) {
	l.turn++
	before, o := &l.head, offer{count: len(names)}
	var strangers map[string]bool
	offered := l.offered[:0]
	for i, name := range names {
		e := before.next
		if e == nil || e.gone || e.Name != name {
			e = l.nodes[name]
		}
		switch {
		case e == nil:
			if strangers[name] || name == "" {
				return nil, o, &OfferError{Index: i, Name: name}
			}
			if strangers == nil {
				strangers = map[string]bool{}
			}
			strangers[name] = true
			o.sum += hashOf(name)
		case e.asked == l.turn:
			return nil, o, &OfferError{Index: i, Name: name}
		default:
			before.next, e.asked = e, l.turn
			before = e
			o.sum += e.hash
		}
		offered = append(offered, e)
	}
	l.offered = offered
	return offered, o, nil
}
