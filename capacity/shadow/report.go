package shadow

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Schema names the form of a Report in JSON. It changes when a field changes its meaning or goes; new fields may come.
const Schema = "muster.sh/shadow/v1"

// Report is what Muster would have done. Times are in seconds, costs per hour as package policy counts them, unless they
// are totals.
type Report struct {
	Schema string    `json:"schema"`
	Since  time.Time `json:"since"`
	At     time.Time `json:"at"`
	// Waiting are the pods without room now, by falling time of waiting; WaitingPods is how many there are.
	WaitingPods int   `json:"waiting_pods"`
	Waiting     []Pod `json:"waiting"`
	// Machines would be there, or on their way, now; Nodes would have been given back by now.
	Machines []Machine `json:"machines"`
	Nodes    []Node    `json:"nodes"`
	// Replacements are the nodes that would be replaced next, each by machines that are bought first; InTurn is how many more would
	// follow, one after another. None of them is carried out on paper: there they neither cost nor save.
	Replacements []Replacement `json:"replacements"`
	InTurn       int           `json:"replacements_in_turn"`
	// EndedMachines and EndedNodes are the last proposals that are over, the latest first.
	EndedMachines []Machine `json:"ended_machines"`
	EndedNodes    []Node    `json:"ended_nodes"`
	Totals        Totals    `json:"totals"`
	// Pools are the totals of each pool.
	Pools map[string]Totals `json:"pools"`
}

// Totals sum up all proposals, those that stand included.
type Totals struct {
	Purchases    int     `json:"purchases"`
	MachineHours float64 `json:"machine_hours"`
	Cost         float64 `json:"cost"`

	Releases  int     `json:"releases"`
	NodeHours float64 `json:"node_hours"`
	Saved     float64 `json:"saved"`

	// Pods that a machine would have been ready for before they found a node or were gone, and how much earlier in sum: to now
	// for those that wait still.
	PodsHelped int     `json:"pods_helped"`
	WaitSaved  float64 `json:"wait_saved_s"`
}

func (t *Totals) add(o Totals) {
	t.Purchases += o.Purchases
	t.MachineHours += o.MachineHours
	t.Cost += o.Cost
	t.Releases += o.Releases
	t.NodeHours += o.NodeHours
	t.Saved += o.Saved
	t.PodsHelped += o.PodsHelped
	t.WaitSaved += o.WaitSaved
}

// Pod is one that waits, and what it would have been told.
type Pod struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Waits     float64 `json:"waits_s"`
	Reason    string  `json:"reason"`
	Message   string  `json:"message"`

	since time.Time
}

// Machine is one that would have been bought.
type Machine struct {
	Name      string              `json:"name"`
	Pool      string              `json:"pool"`
	Shape     string              `json:"shape"`
	Resources corev1.ResourceList `json:"resources"`
	Cost      float64             `json:"cost_per_hour"`
	Ordered   time.Time           `json:"ordered"`
	// Ready is when pods could run on it.
	Ready time.Time `json:"ready"`
	// Pods it would be for.
	Pods  []Served   `json:"pods"`
	Ended *time.Time `json:"ended,omitempty"`
	Why   string     `json:"why,omitempty"`

	uid types.UID
}

// Served is a pod that a machine would have been for.
type Served struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Until is when the pod was seen to wait no more: bound to Node, or, without one, gone.
	Until *time.Time `json:"until,omitempty"`
	Node  string     `json:"node,omitempty"`

	uid types.UID
}

// Node is one that would have been given back.
type Node struct {
	Node   string    `json:"node"`
	Pool   string    `json:"pool"`
	Shape  string    `json:"shape"`
	Cost   float64   `json:"cost_per_hour"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	// Pods, as namespace/name, would have been moved elsewhere first.
	Pods  []string   `json:"pods,omitempty"`
	Ended *time.Time `json:"ended,omitempty"`
	Why   string     `json:"why,omitempty"`

	guests map[types.UID]bool
}

// Replacement is machines that would be bought for nodes that are to go: because they have drifted, are too old, or because that
// costs less.
type Replacement struct {
	Nodes  []string `json:"nodes"`
	Pool   string   `json:"pool"`
	Shapes []string `json:"shapes"`
	// Cost is that of the machines, Before that of the nodes.
	Cost    float64   `json:"cost_per_hour"`
	Before  float64   `json:"cost_per_hour_before"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Why a proposal ended.
const (
	WhyServed  = "PodsServed" // every pod it was for was bound elsewhere, or is gone
	WhyGone    = "PodsGone"   // every pod it was for is gone
	WhyEnough  = "Enough"     // it was to keep a minimum that is kept without it
	WhyPool    = "PoolGone"   // its pool was deleted
	WhyTaken   = "NameTaken"  // the cluster has a claim of this name by now
	WhyUsed    = "NodeUsed"   // a pod was bound to it
	WhyMissing = "NodeGone"   // the node is gone, whoever took it
	WhyOther   = "NotOurs"    // the node is no pool's any more
)
