package capacity

// raise puts the machines that were ordered into the Simulation, so that the pods that are left are judged with them and
// the pods on them in sight.
func (p *planner) raise() {
	for i := len(p.ordered); i < len(p.plan.Creates); i++ {
		c := &p.plan.Creates[i]
		node := NodeOfClaim(c.Claim, p.v.Daemons)
		pl := &place{Place: p.sim.Arrive(&Claim{Object: c.Claim, Node: node}), create: i}
		for _, pod := range c.Pods {
			p.sim.Put(p.sim.Class(pod), pl.Place, 1)
		}
		p.ordered = append(p.ordered, pl)
	}
}

// carry adds a pod to those that the machine is bought for.
func (c *Create) carry(pod *Pod) {
	c.Pods = append(c.Pods, pod)
	c.Claim.Spec.Reserved = append(c.Claim.Spec.Reserved, pod.Ref())
}
