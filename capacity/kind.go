package capacity

import "encoding/hex"

// PodsKey names what pods ask for in the status of pools and claims.
func PodsKey(a *Ask) string { return hex.EncodeToString([]byte(a.Signature)) }

// KindsOf are the kinds of some pods, for spec.orderedFor of their claim, in the order of the pods.
func KindsOf(pods []*Pod) []string {
	var kinds []string
	seen := map[string]bool{}
	for _, p := range pods {
		if !seen[p.Ask.Signature] {
			seen[p.Ask.Signature] = true
			kinds = append(kinds, PodsKey(p.Ask))
		}
	}
	return kinds
}
