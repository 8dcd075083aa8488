package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func makeLive() *Live {
	return NewLive(Schedulers{Place: sets.New("muster"), Guard: sets.New("default-scheduler")})
}

// place asks for a node with the next call number.
func (s *scene) place(p *corev1.Pod, nodes ...string) placed {
	s.number++
	placement, err := s.Place(context.Background(), Call{Number: s.number, Pod: PodOf(p), Nodes: nodes, Now: s.now})
	if err != nil {
		panic(fmt.Sprintf("place %s: %v", p.Name, err))
	}
	answer := placed{Node: placement.Node}
	for i, why := range placement.Refused {
		if answer.Refused == nil {
			answer.Refused = map[string]Reason{}
		}
		answer.Refused[nodes[i]] = why
	}
	return answer
}

// placed is a Placement with the reasons by node.
type placed struct {
	Node    string
	Refused map[string]Reason
}

// scene is a Live with a clock and a count of calls.
type scene struct {
	*Live
	now    time.Time
	number uint64
}

func newScene() *scene { return &scene{Live: makeLive(), now: object.Start} }

func (s *scene) nodes(nodes ...*corev1.Node) {
	for _, n := range nodes {
		s.SetNode(n, s.now)
	}
}

func (s *scene) pods(pods ...*corev1.Pod) {
	for _, p := range pods {
		s.SetPod(p, s.now)
	}
}

// node is the node as a View shows it; nil when there is none.
func (s *scene) node(name string) *Node {
	for _, n := range s.View().Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// shortfall is a pod's entry in the ledger; nil when there is none.
func (s *scene) shortfall(uid types.UID) *Shortfall {
	for _, f := range s.View().Shortfalls {
		if f.Pod.UID == uid {
			return f
		}
	}
	return nil
}

// sent is a plan for pods that fit on these nodes, in the order of their UIDs or in another.
func sent(rooms map[types.UID]string, turns ...types.UID) Plan {
	p := Plan{Outcomes: map[types.UID]Outcome{}, Turns: turns}
	if turns == nil {
		p.Turns = slices.Sorted(maps.Keys(rooms))
	}
	for uid, node := range rooms {
		p.Outcomes[uid] = Outcome{Fate: FitsNow, Node: node}
	}
	return p
}
