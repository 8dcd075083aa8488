package capacity

import "github.com/muster-sh/muster/provider/gate"

// SetFreeze takes in what people have stopped. Only another freeze than the last one is a change: plans and decisions are made anew.
func (l *Live) SetFreeze(f gate.Freeze) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freeze.Equal(f) {
		return false
	}
	l.freeze = f
	l.changed()
	return true
}

// FrozenPools says of each pool whether its releases and its provisioning are stopped, as its status has it.
func (l *Live) FrozenPools() map[string]FrozenPool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]FrozenPool, len(l.pools))
	for name, p := range l.pools {
		var f FrozenPool
		f.Releases, f.Provisioning = p.Status.Frozen()
		all[name] = f
	}
	return all
}

// FrozenPool is what of a pool is stopped.
type FrozenPool struct{ Releases, Provisioning bool }
