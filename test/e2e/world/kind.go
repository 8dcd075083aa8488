package world

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of rule that a cluster may hold. What one kind adds does not depend on the others, so that a kind can
// be left out of a cluster that fails while the rest of it stays what it was.
type Kind string

// The kinds.
const (
	Extended    Kind = "extended"    // extended resources, small pod counts
	Labels      Kind = "labels"      // node selectors and required node affinity
	Taints      Kind = "taints"      // taints, startup taints, tolerations, cordons
	Daemons     Kind = "daemons"     // DaemonSets, for all nodes and for some
	Limits      Kind = "limits"      // pools that run into their limits, weights, prices, overhead, ranges
	Priorities  Kind = "priorities"  // pods that come before others and preempt nobody
	Gates       Kind = "gates"       // pods that are held back
	Preferences Kind = "preferences" // soft rules of every sort
	Ports       Kind = "ports"       // host ports
	Spread      Kind = "spread"      // topologySpreadConstraints
	Affinity    Kind = "affinity"    // required inter-pod affinity and anti-affinity
	Namespaces  Kind = "namespaces"  // pods of several namespaces, and rules that name them
	Volumes     Kind = "volumes"     // volumes that are somewhere, or will be
)

// All are all kinds.
func All() []Kind {
	return []Kind{Extended, Labels, Taints, Daemons, Limits, Priorities, Gates, Preferences, Ports, Spread, Affinity,
		Namespaces, Volumes}
}

// Parse reads names with commas between; "all" is all of them, and a name behind a minus is taken away.
func Parse(text string) ([]Kind, error) {
	var chosen []Kind
	for name := range strings.SplitSeq(text, ",") {
		bare, minus := strings.CutPrefix(name, "-")
		switch {
		case name == "":
		case name == "all":
			chosen = All()
		case !slices.Contains(All(), Kind(bare)):
			return nil, fmt.Errorf("no such kind: %q", bare)
		case minus:
			chosen = slices.DeleteFunc(chosen, func(k Kind) bool { return k == Kind(bare) })
		default:
			chosen = append(chosen, Kind(bare))
		}
	}
	return chosen, nil
}
