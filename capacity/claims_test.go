package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/provider/identity"
)

func TestTheClaimOfANode(t *testing.T) {
	node := func(id, uuid string) *corev1.Node {
		n := object.Node("n", "cpu", "4")
		n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = id, uuid
		return n
	}
	claim := func(name, nodeName, id, uuid string) *v1alpha1.NodeClaim {
		c := object.Claim(name, nodeName)
		c.Status.ProviderID, c.Status.SystemUUID = id, uuid
		return c
	}
	type claims = []*v1alpha1.NodeClaim
	for name, c := range map[string]struct {
		node   *corev1.Node
		claims claims
		want   string
	}{
		"by provider id":                       {node("sim://1", ""), claims{claim("a", "x", "sim://1", ""), claim("b", "n", "", "")}, "a"},
		"by system UUID before the name":       {node("", "U-1"), claims{claim("a", "x", "", "u-1"), claim("b", "n", "", "")}, "a"},
		"by the name that registered":          {node("", ""), claims{claim("a", "n", "sim://1", "u-1")}, "a"},
		"never by the slot's name":             {node("", ""), claims{claim("n", "", "", "")}, ""},
		"never of another provider id":         {node("sim://2", "u-1"), claims{claim("a", "n", "sim://1", "u-1")}, ""},
		"never by name with another UUID":      {node("", "u-2"), claims{claim("a", "n", "", "u-1")}, ""},
		"two with one provider id: none":       {node("sim://1", ""), claims{claim("a", "n", "sim://1", ""), claim("b", "x", "sim://1", "")}, ""},
		"two of one name, one of them by UUID": {node("", "u-1"), claims{claim("a", "n", "", "u-1"), claim("b", "n", "", "")}, "a"},
		"none at all":                          {node("sim://1", "u-1"), claims{claim("a", "x", "sim://9", "u-9")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, claimsFirst := range []bool{true, false} {
				s := newScene()
				if !claimsFirst {
					s.nodes(c.node)
				}
				for _, claim := range c.claims {
					s.SetClaim(claim)
				}
				if claimsFirst {
					s.nodes(c.node)
				}
				require.Equal(t, c.want, s.node("n").Claim)
				if c.want != "" {
					require.Equal(t, "pool", s.node("n").Pool)
				}
			}
		})
	}
	t.Run("by the name that it is to have before it registers", func(t *testing.T) {
		s, c := newScene(), claim("a", "", "", "")
		s.SetClaim(c)
		s.nodes(object.Node(identity.MadeNodeName("a", c.UID, 1), "cpu", "4"))
		require.Equal(t, "a", s.node(identity.NodeName(c)).Claim)
	})
	t.Run("a claim that loses its rival gets the node", func(t *testing.T) {
		s := newScene()
		s.nodes(node("sim://1", ""))
		a, b := claim("a", "n", "sim://1", ""), claim("b", "x", "sim://1", "")
		s.SetClaim(a)
		s.SetClaim(b)
		require.Empty(t, s.node("n").Claim)
		s.ForgetClaim("b", b.UID)
		require.Equal(t, "a", s.node("n").Claim)
	})
}

func TestTheStageOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		taint   string
		state   v1alpha1.ClaimState
		release bool
		deleted bool
		want    Stage
	}{
		"a node of nobody is open":            {"", "none", false, false, Open},
		"the starting taint":                  {v1alpha1.StartingTaint, "none", false, false, Starting},
		"the releasing taint":                 {v1alpha1.ReleasingTaint, "none", false, false, Releasing},
		"a claim just made":                   {"", "", false, false, Starting},
		"a claim that launches":               {"", v1alpha1.ClaimLaunching, false, false, Starting},
		"a claim that joins":                  {"", v1alpha1.ClaimJoining, false, false, Starting},
		"a claim that starts":                 {"", v1alpha1.ClaimStarting, false, false, Starting},
		"a claim that is ready":               {"", v1alpha1.ClaimReady, false, false, Open},
		"ready, and the taint is still there": {v1alpha1.StartingTaint, v1alpha1.ClaimReady, false, false, Starting},
		"a claim that drains":                 {"", v1alpha1.ClaimDraining, true, false, Releasing},
		"drains, and nothing asks for it":     {"", v1alpha1.ClaimDraining, false, false, Open},
		"the same, and the taint is there":    {v1alpha1.ReleasingTaint, v1alpha1.ClaimDraining, false, false, Releasing},
		"a claim that is released":            {"", v1alpha1.ClaimReleasing, false, false, Releasing},
		"a claim that failed":                 {"", v1alpha1.ClaimFailed, false, false, Releasing},
		"a ready claim that is to go":         {"", v1alpha1.ClaimReady, true, false, Releasing},
		"a starting claim that is to go":      {v1alpha1.StartingTaint, v1alpha1.ClaimStarting, true, false, Releasing},
		"a claim that was deleted":            {"", v1alpha1.ClaimReady, false, true, Releasing},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			n := object.Node("n", "cpu", "4")
			if c.taint != "" {
				n = object.Tainted(n, c.taint, corev1.TaintEffectNoSchedule)
			}
			s.nodes(n)
			if c.state != "none" {
				claim := object.InState(object.Claim("a", "n"), c.state)
				if c.release {
					claim.Spec.Release = &v1alpha1.Release{Reason: "Idle"}
				}
				if c.deleted {
					claim.DeletionTimestamp = object.Time(object.Start)
				}
				s.SetClaim(claim)
			}
			require.Equal(t, c.want, s.node("n").Stage)
		})
	}
}

func TestTheNodeOfAMachineThatIsMadeAnewTakesNoPods(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"))
	s.SetClaim(object.GivenBack(object.Claim("a", "n"), 1))
	require.Equal(t, Releasing, s.node("n").Stage)
	c := s.View().Claims[0]
	require.True(t, c.InFlight())
	require.Equal(t, "a", c.Node.Name, "the node that is promised, not the one that goes")
	require.False(t, c.Reported)
}

func TestAnOlderVersionOfAClaimChangesNothing(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"))
	older, newer := object.InState(object.Claim("a", "n"), v1alpha1.ClaimStarting), object.Claim("a", "n")
	older.ResourceVersion, newer.ResourceVersion = "99", "100"
	s.SetClaim(newer)
	s.SetClaim(older)
	require.Equal(t, Open, s.node("n").Stage)

	reborn := object.InState(object.Claim("a", "n"), v1alpha1.ClaimPending)
	reborn.UID, reborn.ResourceVersion, reborn.CreationTimestamp.Time = "reborn", "1", object.At(9)
	s.SetClaim(reborn)
	require.Equal(t, Starting, s.node("n").Stage, "a new claim took over the slot")
	s.ForgetClaim("a", newer.UID)
	require.NotNil(t, s.Claim("a"), "the news that the old one is gone came late")
}

func TestAClaimThatIsGoneDoesNotComeBack(t *testing.T) {
	s := newScene()
	claim := object.InState(object.Claim("a", ""), v1alpha1.ClaimJoining)
	s.SetClaim(claim)
	s.ForgetClaim("a", claim.UID)
	s.SetClaim(claim)
	require.Nil(t, s.Claim("a"), "the answer to its last change came after the news of its end")
	claim.UID = "another"
	s.SetClaim(claim)
	require.NotNil(t, s.Claim("a"), "its slot is free for the next")
}

// orders is a Ready node of 4 cores that was ordered for pods a and b of 1500m each.
func orders() *scene {
	s := newScene()
	s.nodes(object.Node("mine", "cpu", "4", "memory", "8Gi"), object.Node("other", "cpu", "4", "memory", "8Gi"))
	s.pods(object.Pod("a", "cpu", "1500m"), object.Pod("b", "cpu", "1500m"))
	s.SetClaim(object.Claim("pool-000", "mine", "a", "b"))
	return s
}

func TestRoomIsKeptForThePodsItWasOrderedFor(t *testing.T) {
	s := orders()
	require.Equal(t, amount.Resources{MilliCPU: 3000, Pods: 2}, s.node("mine").Reserved)
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(object.Pod("x", "cpu", "2"), "mine").Refused)
	require.Equal(t, "mine", s.place(object.Pod("y", "cpu", "1"), "mine").Node, "what is left over is for everybody")

	s.pods(object.Bound(object.Pod("full", "cpu", "3"), "other"))
	require.Equal(t, "mine", s.place(object.Pod("a", "cpu", "1500m"), "other", "mine").Node, "its own node, although another is fuller")
	require.Equal(t, amount.Resources{MilliCPU: 1500, Pods: 1}, s.node("mine").Reserved, "held, it no longer waits")
	require.Equal(t, "mine", s.place(object.Pod("b", "cpu", "1500m"), "other", "mine").Node)
	require.True(t, s.node("mine").Reserved.IsZero())
	require.Equal(t, int64(0), s.node("mine").Free().MilliCPU)
}

func TestAReservationEnds(t *testing.T) {
	for name, end := range map[string]func(s *scene){
		"when the pod is bound there":     func(s *scene) { s.pods(object.Bound(object.Pod("a", "cpu", "1500m"), "mine")) },
		"when the pod is bound elsewhere": func(s *scene) { s.pods(object.Bound(object.Pod("a", "cpu", "1500m"), "other")) },
		"when the pod is held elsewhere":  func(s *scene) { s.place(object.Pod("a", "cpu", "1500m"), "other") },
		"when the pod is nominated":       func(s *scene) { s.pods(object.Nominated(object.Pod("a", "cpu", "1500m"), "other")) },
		"when the pod is gone":            func(s *scene) { s.ForgetPod("a") },
		"when the pod is being deleted":   func(s *scene) { p := object.Pod("a"); p.DeletionTimestamp = object.Time(object.Start); s.pods(p) },
		"when the pod is finished":        func(s *scene) { p := object.Pod("a"); p.Status.Phase = corev1.PodFailed; s.pods(p) },
		"when the claim lists it no more": func(s *scene) { s.SetClaim(object.Claim("pool-000", "mine", "b")) },
		"when a newer claim lists it": func(s *scene) {
			c := object.Claim("pool-001", "", "a")
			c.CreationTimestamp.Time = object.At(1)
			s.SetClaim(c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := orders()
			end(s)
			require.Equal(t, int64(1500), s.node("mine").Reserved.MilliCPU, "b is still waited for")
		})
	}
	t.Run("when the claim is gone", func(t *testing.T) {
		s := orders()
		s.ForgetClaim("pool-000", "uid-pool-000")
		require.True(t, s.node("mine").Reserved.IsZero())
	})
}

func TestAReservationComesBack(t *testing.T) {
	s := orders()
	s.ForgetPod("a")
	s.pods(object.Pod("c", "cpu", "1"))
	s.SetClaim(object.Claim("pool-000", "mine", "a", "b", "c"))
	require.Equal(t, int64(2500), s.node("mine").Reserved.MilliCPU)
	s.pods(object.Pod("d", "cpu", "100m"))
	s.SetClaim(object.Claim("pool-000", "mine", "d", "late"))
	require.Equal(t, int64(100), s.node("mine").Reserved.MilliCPU)
	s.pods(object.Pod("late", "cpu", "200m"))
	require.Equal(t, int64(300), s.node("mine").Reserved.MilliCPU, "a pod seen after its claim")

	newer := object.Claim("pool-001", "", "late")
	newer.CreationTimestamp.Time = object.At(1)
	s.SetClaim(newer)
	require.Equal(t, int64(100), s.node("mine").Reserved.MilliCPU)
	s.SetClaim(object.InState(newer, v1alpha1.ClaimFailed))
	require.Equal(t, int64(300), s.node("mine").Reserved.MilliCPU, "the newer machine never came")
	s.place(object.Pod("late", "cpu", "200m"), "other")
	require.Equal(t, int64(100), s.node("mine").Reserved.MilliCPU)
	s.place(object.Pod("late", "cpu", "200m"))
	require.Equal(t, int64(300), s.node("mine").Reserved.MilliCPU, "its hold was lifted")
}

// A claim may be matched before its status names the node.
func TestReservationsDoNotNeedTheNodesName(t *testing.T) {
	s := newScene()
	n := object.Node("mine", "cpu", "4")
	n.Spec.ProviderID = "sim://1"
	s.nodes(n)
	c := object.Claim("pool-000", "", "a")
	c.Status.ProviderID = "sim://1"
	s.SetClaim(c)
	s.pods(object.Pod("a", "cpu", "1"))
	require.Equal(t, int64(1000), s.node("mine").Reserved.MilliCPU)
	s.pods(object.Bound(object.Pod("a", "cpu", "1"), "mine"))
	require.True(t, s.node("mine").Reserved.IsZero())
}

func TestReservationsExpire(t *testing.T) {
	s := orders()
	s.SetClaim(object.Claim("pool-001", "", "b"))
	starting := object.InState(object.Claim("pool-002", "", "c"), v1alpha1.ClaimStarting)
	starting.Status.ReadyAt = nil
	s.SetClaim(starting)
	require.Equal(t, ReservationTTL, s.Expire(object.Start))
	require.Equal(t, time.Nanosecond, s.Expire(object.Start.Add(ReservationTTL-time.Nanosecond)))
	require.Equal(t, int64(3000), s.node("mine").Reserved.MilliCPU)
	poke := s.Changed()
	require.Zero(t, s.Expire(object.Start.Add(ReservationTTL)))
	require.Len(t, poke, 1)
	require.True(t, s.node("mine").Reserved.IsZero())
	require.Empty(t, s.View().Reserved)
	require.Equal(t, "mine", s.place(object.Pod("x", "cpu", "4"), "mine").Node)
	require.Zero(t, s.Expire(object.At(1000)))

	reborn := object.Claim("pool-000", "other", "a")
	reborn.UID, reborn.CreationTimestamp.Time = "reborn", object.At(500)
	s.SetClaim(reborn)
	require.Equal(t, int64(1500), s.node("other").Reserved.MilliCPU, "a new claim of that name keeps room again")
}

func TestTheViewListsWhoIsWaitedFor(t *testing.T) {
	s := orders()
	names := func() (uids []types.UID) {
		for _, p := range s.View().Reserved["pool-000"] {
			uids = append(uids, p.UID)
		}
		return uids
	}
	require.Equal(t, []types.UID{"a", "b"}, names())
	s.pods(object.Bound(object.Pod("a", "cpu", "1500m"), "mine"))
	require.Equal(t, []types.UID{"b"}, names())
}
