// Package scene is a Live that tests of other packages fill. Nothing but tests uses it.
package scene

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// Scene is a Live with a clock and a count of filter calls, for tests of packages that use a Live.
type Scene struct {
	*capacity.Live
	Now    time.Time
	number uint64
}

// New is an empty cluster in which the scheduler muster places pods and default-scheduler is guarded.
func New() *Scene {
	return &Scene{Live: capacity.NewLive(capacity.Schedulers{Place: sets.New("muster"), Guard: sets.New("default-scheduler")}), Now: object.Start}
}

// Nodes adds or changes nodes.
func (s *Scene) Nodes(nodes ...*corev1.Node) {
	for _, n := range nodes {
		s.SetNode(n, s.Now)
	}
}

// Pods adds or changes pods.
func (s *Scene) Pods(pods ...*corev1.Pod) {
	for _, p := range pods {
		s.SetPod(p, s.Now)
	}
}

// Ask asks for a node with the next filter call, and returns the one that is chosen; empty where none is.
func (s *Scene) Ask(p *corev1.Pod, nodes ...string) string {
	s.number++
	placement, err := s.Place(context.Background(), capacity.Call{Number: s.number, Pod: capacity.PodOf(p), Nodes: nodes, Now: s.Now})
	if err != nil {
		panic(fmt.Sprintf("place %s: %v", p.Name, err))
	}
	return placement.Node
}

// Node is the node as a View shows it; nil when there is none.
func (s *Scene) Node(name string) *capacity.Node {
	for _, n := range s.View().Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Shortfall is a pod's entry in the ledger; nil when there is none.
func (s *Scene) Shortfall(uid types.UID) *capacity.Shortfall {
	for _, f := range s.View().Shortfalls {
		if f.Pod.UID == uid {
			return f
		}
	}
	return nil
}
