package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/provider/identity"
)

// The pods of a Node outlive it until the pod garbage collector runs, 40 s later. Its slot is used again before that: on the new Node,
// which is smaller, they would count for nothing that is there, and keep it full.
func TestM04PodsOfAnOldNodeDoNotCountOnANewOneOfItsSlot(t *testing.T) {
	s := newScene()
	node := func(uid types.UID, cpu string) string {
		c := object.Claim("std-000", "")
		c.UID = uid
		s.SetClaim(c)
		n := object.Node(identity.NodeName(c), "cpu", cpu)
		s.nodes(n)
		c = c.DeepCopy()
		c.Status.NodeName = n.Name
		s.SetClaim(c)
		return n.Name
	}
	first := node("uid-1", "8")
	s.pods(object.Bound(object.Pod("left", "cpu", "6"), first))
	s.ForgetNode(first)
	s.ForgetClaim("std-000", "uid-1")

	second := node("uid-2", "4")
	require.Equal(t, "std-000", s.node(second).Claim)
	require.Empty(t, s.Occupants(second), "the old pod")
	require.NotEmpty(t, s.Occupants(first), "it is still bound, to a name that no Node has")
	require.Equal(t, second, s.place(object.Pod("new", "cpu", "3"), second).Node)
	require.NotEqual(t, first, second)
}
