package topology

// Apart are the keys over which two pods may not share a domain once the first is placed: the second is to be placed, and
// avoids such pods, or the first keeps it away. Keys may come twice.
func Apart(all Namespaces, placed, coming Subject) []string {
	var keys []string
	if coming.Rules != nil && !placed.Terminating {
		for i := range coming.Rules.anti {
			if t := coming.Rules.anti[i].bound(coming.Namespace); t.seeks(all, placed.Namespace, placed.Labels) {
				keys = append(keys, t.key)
			}
		}
	}
	if placed.Rules != nil {
		for i := range placed.Rules.anti {
			if t := placed.Rules.anti[i].bound(placed.Namespace); t.shuns(all, coming.Namespace, coming.Labels) {
				keys = append(keys, t.key)
			}
		}
	}
	return keys
}
