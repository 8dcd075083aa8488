package reaper

import (
	"github.com/muster-sh/muster/capacity/amount"
)

// rooms sums the nodes of a pool that stay.
type rooms struct {
	headroom               int64 // percent that stays free
	milliCPU, memory       int64 // that they offer
	freeMilliCPU, freeByte int64
}

func (r *rooms) add(offer, free amount.Resources) {
	r.milliCPU += offer.MilliCPU
	r.memory += offer.Memory
	r.freeMilliCPU += max(free.MilliCPU, 0)
	r.freeByte += max(free.Memory, 0)
}

// leave counts a node that goes, take a pod that comes.
func (r *rooms) leave(offer, free amount.Resources) {
	r.milliCPU -= offer.MilliCPU
	r.memory -= offer.Memory
	r.freeMilliCPU -= max(free.MilliCPU, 0)
	r.freeByte -= max(free.Memory, 0)
}

func (r *rooms) take(asked amount.Resources) {
	r.freeMilliCPU -= asked.MilliCPU
	r.freeByte -= asked.Memory
}

// tight says whether less than the headroom is left free. Divided first: the sums are of thousands of nodes.
func (r *rooms) tight() bool {
	return r.freeMilliCPU < r.milliCPU/100*r.headroom || r.freeByte < r.memory/100*r.headroom
}

// cloneRooms remembers the sums, for a trial that is dropped.
func (m *mover) cloneRooms() map[string]*rooms {
	c := make(map[string]*rooms, len(m.rooms))
	for pool, r := range m.rooms {
		sums := *r
		c[pool] = &sums
	}
	return c
}
