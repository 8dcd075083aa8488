package topology

// Draws are the keys of the required affinity of a pod that is to be placed, if another pod is one that it may be placed
// beside: that one lets it into its domains. As for kube-scheduler, such a pod satisfies all terms. Keys may come twice.
func Draws(all Namespaces, placed, coming Subject) []string {
	if coming.Rules == nil || placed.Terminating {
		return nil
	}
	var keys []string
	for i := range coming.Rules.affinity {
		t := coming.Rules.affinity[i].bound(coming.Namespace)
		if !t.seeks(all, placed.Namespace, placed.Labels) {
			return nil
		}
		keys = append(keys, t.key)
	}
	return keys
}
