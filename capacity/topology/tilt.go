package topology

// Tilts are the keys of the spread constraints of a pod that is to be placed which count another pod: where that one is placed
// first, in the same domain, the domain may be too full. Keys may come twice.
func Tilts(placed, coming Subject) []string {
	if coming.Rules == nil || placed.Namespace != coming.Namespace || placed.Terminating {
		return nil
	}
	var keys []string
	for i := range coming.Rules.spread {
		c := &coming.Rules.spread[i]
		if selector, _ := c.bound(coming.Labels); selector.Matches(placed.Labels) {
			keys = append(keys, c.key)
		}
	}
	return keys
}
