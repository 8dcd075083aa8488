package gate

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

const ours = types.UID("c1")

func subject() Subject { return Subject{Machine: "101", ClaimUID: "u1", Attempt: 2, Node: "std-000"} }

func identityOf() Identity {
	return Identity{ID: "101", Name: "std-000", SystemUUID: "5d5c3f6e-0000-4000-8000-000000000001", Serial: "S1"}
}

// whole is evidence of which every clause of an act holds.
func whole(act Act) Evidence {
	e := Evidence{
		Act: act, Subject: subject(), Began: start, Cluster: ours, Pods: []types.UID{"p1"},
		Frozen: Read(""), Intent: Read(Intent{Asks: "claim std-000 is Releasing"}),
		Machine: Read(Machine{Cluster: ours, ClaimUID: "u1", Attempt: 2, Recorded: identityOf(), Now: identityOf()}),
		Twins:   Read([]string(nil)),
		Nodes:   Read([]Node{{Name: "std-000", UID: "n1", Why: "it has the machine's provider ID", Ready: true, Closed: true}}),
		On:      Read([]Pod(nil)),
	}
	switch act {
	case DeleteNode:
		e.Machine = Read(Machine{Absent: true})
	case HandOver:
		e.Nodes = Read([]Node(nil))
	}
	return e
}

func change[T any](r *Reading[T], edit func(*T)) {
	edit(&r.value)
}

var errAway = errors.New("connection refused")

// broken are the ways in which evidence proves nothing, each with the clause that it breaks and the acts that it stops. It is the list
// of what the gate is there for: a line for each thing that people, clusters and machines did to Muster.
var broken = []struct {
	name   string
	clause string
	acts   []Act
	edit   func(*Evidence)
}{
	{"the readings are eleven seconds old", "readings are fresh", Acts, func(e *Evidence) { e.Began = start.Add(-11 * time.Second) }},
	{"the readings are from the future: the clock went back", "readings are fresh", Acts, func(e *Evidence) { e.Began = start.Add(time.Hour) }},
	{"nothing was read", "readings are fresh", Acts, func(e *Evidence) { e.Began = time.Time{} }},

	{"releases are frozen", "releases are not frozen", Acts, func(e *Evidence) { e.Frozen = Read("frozen by ann: maintenance") }},
	{"the freeze could not be read", "releases are not frozen", Acts, func(e *Evidence) { e.Frozen = Unread[string](errAway) }},
	{"the freeze was not read", "releases are not frozen", Acts, func(e *Evidence) { e.Frozen = Reading[string]{} }},

	{"the claim is gone", "the intent is recorded", Acts, func(e *Evidence) { e.Intent = Read(Intent{Missing: true}) }},
	{"the release was withdrawn", "the intent is recorded", Acts, func(e *Evidence) { e.Intent = Read(Intent{Not: "claim std-000 is Ready"}) }},
	{"the API server does not answer", "the intent is recorded", Acts, func(e *Evidence) { e.Intent = Unread[Intent](errAway) }},
	{"no object asks for it", "the intent is recorded", Acts, func(e *Evidence) { e.Intent = Read(Intent{}) }},

	{"the machine was not read", "the mark is ours", machines, func(e *Evidence) { e.Machine = Reading[Machine]{} }},
	{"the mark names another cluster", "the mark is ours", machines, func(e *Evidence) { change(&e.Machine, func(m *Machine) { m.Cluster = "c2" }) }},
	{"the mark names no cluster", "the mark is ours", machines, func(e *Evidence) { change(&e.Machine, func(m *Machine) { m.Cluster = "" }) }},
	{"Muster does not know its own cluster", "the mark is ours", machines, func(e *Evidence) {
		e.Cluster = ""
		change(&e.Machine, func(m *Machine) { m.Cluster = "" })
	}},
	{"the mark names another claim", "the mark is ours", machines, func(e *Evidence) { change(&e.Machine, func(m *Machine) { m.ClaimUID = "u2" }) }},
	{"the mark names another attempt", "the mark is ours", machines, func(e *Evidence) { change(&e.Machine, func(m *Machine) { m.Attempt = 1 }) }},

	{"M09: another machine is in its place", "the identity is the recorded one", machines, func(e *Evidence) {
		change(&e.Machine, func(m *Machine) { m.Now.SystemUUID = "5d5c3f6e-0000-4000-8000-000000000002" })
	}},
	{"the serial number is another one", "the identity is the recorded one", machines, func(e *Evidence) {
		change(&e.Machine, func(m *Machine) { m.Now.Serial = "S2" })
	}},
	{"its name was changed", "the identity is the recorded one", machines, func(e *Evidence) {
		change(&e.Machine, func(m *Machine) { m.Now.Name = "db" })
	}},
	{"M11: the reading does not tell the UUID", "the identity is the recorded one", machines, func(e *Evidence) {
		change(&e.Machine, func(m *Machine) { m.Now.SystemUUID = "" })
	}},
	{"the machine has a factory's UUID and nothing else", "the identity is the recorded one", machines, func(e *Evidence) {
		change(&e.Machine, func(m *Machine) {
			m.Recorded = Identity{ID: "101", SystemUUID: "03000200-0400-0500-0006-000700080009"}
			m.Now = m.Recorded
		})
	}},

	{"the provider still has the machine", "the machine is gone", []Act{DeleteNode}, func(e *Evidence) {
		e.Machine = Read(Machine{Cluster: ours, ClaimUID: "u1", Attempt: 2})
	}},
	{"M08: the Provider cannot be asked", "the machine is gone", []Act{DeleteNode}, func(e *Evidence) { e.Machine = Unread[Machine](errAway) }},

	{"M10: two Hosts on one BMC", "no other machine is meant", []Act{Delete, Stop, PowerOff, DeleteNode, HandOver}, func(e *Evidence) {
		e.Twins = Read([]string{"host b (both have BMC https://10.0.0.1)"})
	}},
	{"the other machines were not read", "no other machine is meant", []Act{Delete, Stop, PowerOff, DeleteNode, HandOver}, func(e *Evidence) {
		e.Twins = Unread[[]string](errAway)
	}},

	{"M03: the Node could be another claim's machine", "each Node belongs to this machine alone", []Act{Delete, Stop, PowerOff, DeleteNode, Evict, DeletePod},
		func(e *Evidence) { change(&e.Nodes, func(n *[]Node) { (*n)[0].Others = []string{"std-001"} }) }},
	{"the Nodes could not be read", "each Node belongs to this machine alone", []Act{Delete, Stop, PowerOff, DeleteNode, Evict, DeletePod},
		func(e *Evidence) { e.Nodes = Unread[[]Node](errAway) }},

	{"the Node was deleted and made again under another name", "the Node is there", []Act{DeleteNode, Evict, DeletePod}, func(e *Evidence) {
		change(&e.Nodes, func(n *[]Node) { (*n)[0].Name = "other" })
	}},
	{"there is no Node", "the Node is there", []Act{DeleteNode, Evict, DeletePod}, func(e *Evidence) { e.Nodes = Read([]Node(nil)) }},

	{"M02: a second Node of the machine takes pods", "the Nodes are closed", []Act{Delete, Stop, PowerOff, DeleteNode, Evict, DeletePod}, func(e *Evidence) {
		change(&e.Nodes, func(n *[]Node) { *n = append(*n, Node{Name: "renamed", UID: "n2", Ready: true}) })
	}},

	{"M01: the Node is gone, and a pod is bound to its name", "no pod is left", []Act{Delete, Stop, PowerOff, HandOver}, func(e *Evidence) {
		if e.Act != HandOver {
			e.Nodes = Read([]Node(nil))
		}
		e.On = Read([]Pod{{Namespace: "d", Name: "db-0", UID: "p9", Node: "std-000"}})
	}},
	{"M05: the Node that never left Starting has pods", "no pod is left", []Act{Delete, Stop, PowerOff, HandOver}, func(e *Evidence) {
		e.On = Read([]Pod{{Namespace: "d", Name: "web", UID: "p9", Node: "std-000"}})
	}},
	{"the pods could not be read", "no pod is left", []Act{Delete, Stop, PowerOff, HandOver}, func(e *Evidence) { e.On = Unread[[]Pod](errAway) }},

	{"M04: the last claim's Node is still there", "no old Node is left", []Act{HandOver}, func(e *Evidence) {
		e.Nodes = Read([]Node{{Name: "std-000", UID: "n0", Closed: true}})
	}},
	{"the Nodes could not be read before a host is handed on", "no old Node is left", []Act{HandOver}, func(e *Evidence) { e.Nodes = Unread[[]Node](errAway) }},

	{"a pod of the batch is protected", "no protected pod is touched", []Act{Evict, DeletePod}, func(e *Evidence) {
		e.On = Read([]Pod{{Namespace: "d", Name: "db-0", UID: "p1", Node: "std-000", Protected: "ProtectedPod"}})
	}},
	{"the pods of the batch could not be read", "no protected pod is touched", []Act{Evict, DeletePod}, func(e *Evidence) { e.On = Unread[[]Pod](errAway) }},
}

func TestEvidenceThatIsWholePermitsItsActAndSaysWhy(t *testing.T) {
	for _, act := range Acts {
		p, err := Judge(whole(act), start.Add(time.Second))
		require.NoError(t, err, act)
		require.NoError(t, p.Check(act, subject(), start.Add(time.Second)))
		var names []string
		for _, item := range p.Items() {
			names = append(names, item.Clause)
			require.NotEmpty(t, item.Found, item.Clause)
		}
		require.Equal(t, Clauses(act), names, "every clause is named in the proof of: %s", act)
	}
}

func TestWhatIsMissingIsRefusedByName(t *testing.T) {
	for _, b := range broken {
		for _, act := range b.acts {
			t.Run(fmt.Sprintf("%s/%s", b.name, act), func(t *testing.T) {
				e := whole(act)
				b.edit(&e)
				p, err := Judge(e, start.Add(time.Second))
				var refusal *Refusal
				require.ErrorAs(t, err, &refusal)
				require.ErrorIs(t, p.Check(act, subject(), start), ErrNoProof)
				named := slices.ContainsFunc(refusal.Missing, func(i Item) bool { return i.Clause == b.clause })
				require.True(t, named, "refused for %v", refusal.Missing)
				require.Contains(t, err.Error(), string(act))
				require.Regexp(t, `^[A-Z][A-Za-z]+$`, refusal.Reason)
			})
		}
	}
}

// Each clause is taken out of the table in turn: one of the cases above must then pass that may not. A clause that no case needs
// would be a clause that nothing holds.
func TestEachClauseIsNeeded(t *testing.T) {
	for i, c := range clauses {
		without := slices.Delete(slices.Clone(clauses), i, i+1)
		var caught []string
		for _, b := range broken {
			for _, act := range b.acts {
				e := whole(act)
				b.edit(&e)
				if _, err := judge(without, e, start.Add(time.Second)); err == nil {
					caught = append(caught, fmt.Sprintf("%s (%s)", b.name, act))
				}
			}
		}
		require.NotEmpty(t, caught, "nothing notices when the clause %q is missing", c.name)
		t.Logf("without %q: %d cases pass that may not, the first: %s", c.name, len(caught), caught[0])
	}
}

// Each reading that was not made stops every act that has a clause about it.
func TestWhatWasNotReadPermitsNothing(t *testing.T) {
	for _, act := range Acts {
		_, err := Judge(Evidence{Act: act, Subject: subject()}, start)
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal)
		require.Len(t, refusal.Missing, len(Clauses(act)), "every clause of: %s", act)
	}
	_, err := Judge(whole("burn it"), start)
	require.Error(t, err, "an act that is not in the list")
}

// A restart is for a Node that is silent. Its pods stay bound and run again after it, so they do not stop it; what stands against it is a
// Node that is Ready, and a pod whose owner asked for it to be left alone.
func TestARestartIsPermittedUnderThePodsOfASilentNode(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Evidence)
		not  string
	}{
		"its pods are bound there": {func(*Evidence) {}, ""},
		"its Node is Ready": {func(e *Evidence) {
			e.Nodes = Read([]Node{{Name: "std-000", UID: "n1", Ready: true, Closed: true}})
		}, "Node std-000 is Ready, and is not to be restarted"},
		"M02: another Node of it is Ready": {func(e *Evidence) {
			e.Nodes = Read([]Node{{Name: "std-000", UID: "n1"}, {Name: "renamed", UID: "n2", Ready: true, Closed: true}})
		}, "Node renamed is Ready"},
		"it has no Node":              {func(e *Evidence) { e.Nodes = Read([]Node(nil)) }, "it has no Node that could be silent"},
		"its Nodes could not be read": {func(e *Evidence) { e.Nodes = Unread[[]Node](errAway) }, "the Nodes could not be read"},
		"its pods could not be read":  {func(e *Evidence) { e.On = Unread[[]Pod](errAway) }, "the pods could not be read"},
		"a pod is protected": {func(e *Evidence) {
			e.On = Read([]Pod{{Namespace: "d", Name: "db-0", UID: "p9", Node: "std-000", Protected: "ProtectedPod"}})
		}, "pods that are not to be disturbed: d/db-0 on std-000 (ProtectedPod)"},
	} {
		for _, act := range []Act{Stop, PowerOff} {
			t.Run(fmt.Sprintf("%s/%s", name, act), func(t *testing.T) {
				e := whole(act)
				e.Restart, e.Nodes = true, Read([]Node{{Name: "std-000", UID: "n1"}})
				e.On = Read([]Pod{{Namespace: "d", Name: "web", UID: "p9", Node: "std-000"}})
				c.edit(&e)
				_, err := Judge(e, start)
				if c.not != "" {
					require.ErrorContains(t, err, c.not)
					return
				}
				require.NoError(t, err)
				e.Restart = false
				_, err = Judge(e, start)
				require.ErrorContains(t, err, "pods are bound there", "anything but a restart")
			})
		}
	}
}

func TestAProofIsBoundSpentAndOld(t *testing.T) {
	now := start.Add(time.Second)
	prove := func() Proof {
		p, err := Judge(whole(Delete), now)
		require.NoError(t, err)
		return p
	}
	for name, s := range map[string]Subject{
		"another machine": {Machine: "102", ClaimUID: "u1", Attempt: 2, Node: "std-000"},
		"another claim":   {Machine: "101", ClaimUID: "u2", Attempt: 2, Node: "std-000"},
		"another attempt": {Machine: "101", ClaimUID: "u1", Attempt: 3, Node: "std-000"},
	} {
		require.ErrorIs(t, prove().Spend(Delete, s, now), ErrNoProof, name)
	}
	p := prove()
	require.ErrorIs(t, p.Spend(Stop, subject(), now), ErrNoProof, "another act")
	require.ErrorIs(t, p.Spend(Delete, subject(), start.Add(Life+1)), ErrStale, "too old")
	require.ErrorIs(t, p.Spend(Delete, subject(), start.Add(-1)), ErrStale, "from before its readings")
	require.NoError(t, p.Spend(Delete, subject(), start.Add(Life)))
	require.ErrorIs(t, p.Spend(Delete, subject(), now), ErrStale, "spent")
	require.ErrorIs(t, Proof{}.Spend(Delete, Subject{}, now), ErrNoProof)
	require.Equal(t, "no proof", Proof{}.String())
}

func TestAProofCoversThePodsOfItsBatch(t *testing.T) {
	p, err := Judge(whole(Evict), start)
	require.NoError(t, err)
	require.NoError(t, p.CoversPod("p1", start, Evict, Preempt))
	require.NoError(t, p.CoversPod("p1", start.Add(Life), Evict), "a batch shares it")
	require.ErrorIs(t, p.CoversPod("p2", start, Evict), ErrNoProof)
	require.ErrorIs(t, p.CoversPod("p1", start, DeletePod), ErrNoProof)
	require.ErrorIs(t, p.CoversPod("p1", start.Add(Life+1), Evict), ErrStale)
}

func TestWhatIsLeftOfAMachineThatIsGoneMayBeTakenAway(t *testing.T) {
	e := whole(Delete)
	e.Machine, e.Nodes, e.On = Read(Machine{Absent: true}), Reading[[]Node]{}, Reading[[]Pod]{}
	_, err := Judge(e, start)
	require.NoError(t, err)
	e.Act = Stop
	_, err = Judge(e, start)
	require.Error(t, err, "what is not there is not stopped")
}

func TestAHostThatWasNeverSwitchedOnIsGivenBackWithoutAnIdentity(t *testing.T) {
	e := whole(Delete)
	change(&e.Machine, func(m *Machine) { m.NeverStarted, m.Recorded, m.Now = true, Identity{}, Identity{ID: "h"} })
	_, err := Judge(e, start)
	require.NoError(t, err)
	e.Act = PowerOff
	_, err = Judge(e, start)
	require.Error(t, err, "its power is not touched")
}
