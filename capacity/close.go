package capacity

import "slices"

// Close stops the filter from choosing a node, before anything else is done to release it. It refuses while a hold or a
// pod counts against the node that is neither resident nor among those that were decided on, or while room there is
// reserved: the answer already given wins.
func (l *Live) Close(node string, decided []*Pod) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[node]
	if e == nil || e.Object == nil || len(e.holds) > 0 || e.guests > len(decided) || !e.Reserved.IsZero() {
		return false
	}
	for _, p := range e.pods {
		if !p.Resident() && !slices.ContainsFunc(decided, func(d *Pod) bool { return d.UID == p.UID }) {
			return false
		}
	}
	e.closed = true
	l.settleStage(e)
	l.changed()
	return true
}

// Reopen takes a Close back.
func (l *Live) Reopen(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[node]
	if e == nil || !e.closed {
		return
	}
	e.closed = false
	l.settleStage(e)
	l.changed()
}

// Wane says which nodes the reaper is about to empty: pods that fit elsewhere as well had better go there, so that fewer have
// to be moved.
func (l *Live) Wane(nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.waning {
		e.waning = false
	}
	l.waning = l.waning[:0]
	for _, name := range nodes {
		if e := l.nodes[name]; e != nil {
			e.waning = true
			l.waning = append(l.waning, e)
		}
	}
}
