package capacity

// rank orders the nodes a pod fits on. Place mode offers one node, so nothing ranks after it: soft spreading, the pod's
// own preferences and the emptying of nodes are decided here.
type rank struct {
	entry     *entry
	reserved  bool  // the machine was ordered for this pod, or the last plan sends it there
	avoided   int   // PreferNoSchedule taints it does not tolerate
	preferred int64 // sum of the weights of its preferred node affinity terms
	siblings  int   // pods of the same ReplicaSet, StatefulSet or ReplicationController there
	empty     bool  // nothing but resident pods there: let it empty itself for good
	waning    bool  // the reaper is about to empty it
	guests    int   // pods that would have to leave before it could go
	used      int64 // how full the node will be, in 1/10000 of its scarcest resource
}

// before says whether r is the better node: what was ordered for the pod first, then what the pod prefers, then
// upstream's default spreading, then a node that stays, then the one with the most pods, then the fullest, then the name.
//
// The node with the most pods is the last to run empty by itself and takes the most evictions to empty. Sent there, pods keep the
// others free to go; the fullest node may be one large pod away from being empty.
func (r rank) before(o rank) bool {
	switch {
	case r.reserved != o.reserved:
		return r.reserved
	case r.avoided != o.avoided:
		return r.avoided < o.avoided
	case r.preferred != o.preferred:
		return r.preferred > o.preferred
	case r.siblings != o.siblings:
		return r.siblings < o.siblings
	case r.empty != o.empty:
		return o.empty
	case r.waning != o.waning:
		return o.waning
	case r.guests != o.guests:
		return r.guests > o.guests
	case r.used != o.used:
		return r.used > o.used
	}
	return r.entry.Name < o.entry.Name
}

func (e *entry) rank(p *Pod, o *opinion, keeper keeper) rank {
	r := rank{
		entry: e, avoided: o.avoided, preferred: o.preferred, empty: e.tenants() == 0,
		waning: e.waning, guests: e.tenants(), used: fullness(p.Ask, &e.Node), reserved: keeper.is(e),
	}
	if len(e.owners) > 0 && spreads(p.OwnerKind) {
		r.siblings = e.owners[p.Owner]
	}
	return r
}

// tenants is how many pods are there, or on their way, that do not live and die with the node.
func (e *entry) tenants() int { return e.guests + len(e.holds) }

// Apart says whether PodTopologySpread's system defaults would rather have the two pods on different nodes.
func (p *Pod) Apart(other *Pod) bool { return spreads(p.OwnerKind) && p.Owner == other.Owner }

// spreads names the owners whose pods PodTopologySpread's system defaults keep apart.
func spreads(kind string) bool {
	return kind == "ReplicaSet" || kind == "StatefulSet" || kind == "ReplicationController"
}

// fullness is the larger of cpu and memory in use after the pod came, in 1/10000 of allocatable.
func fullness(a *Ask, n *Node) int64 {
	cpu := share(n.Used.MilliCPU+n.Held.MilliCPU+a.Requests.MilliCPU, n.Allocatable.MilliCPU)
	return max(cpu, share(n.Used.Memory+n.Held.Memory+a.Requests.Memory, n.Allocatable.Memory))
}

func share(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 10_000)
}
