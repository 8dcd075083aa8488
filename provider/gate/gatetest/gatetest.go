// Package gatetest makes evidence that permits an act, for tests of what a proof is asked of. Its proofs come from gate.Judge, as
// every proof does.
package gatetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Cluster is the cluster of the evidence.
const Cluster = types.UID("c1c1c1c1-0000-4000-8000-000000000001")

// Evidence is all that an act wants, read now.
func Evidence(act gate.Act, s gate.Subject, id gate.Identity, now time.Time) gate.Evidence {
	if identity.Unproven(id, id) != "" {
		id.Serial = "serial of " + s.Machine // as if its backend told it
	}
	e := gate.Evidence{
		Act: act, Subject: s, Began: now, Cluster: Cluster,
		Frozen: gate.Read(""), Intent: gate.Read(gate.Intent{Asks: "a test"}),
		Machine: gate.Read(gate.Machine{Cluster: Cluster, ClaimUID: s.ClaimUID, Attempt: s.Attempt, Recorded: id, Now: id}),
		Twins:   gate.Read([]string(nil)), Nodes: gate.Read([]gate.Node(nil)), On: gate.Read([]gate.Pod(nil)),
	}
	switch act {
	case gate.DeleteNode:
		e.Machine = gate.Read(gate.Machine{Absent: true})
		e.Nodes = gate.Read([]gate.Node{{Name: s.Node, UID: "node", Why: "a test"}})
	case gate.Evict, gate.DeletePod:
		e.Nodes = gate.Read([]gate.Node{{Name: s.Node, UID: "node", Why: "a test", Ready: true, Closed: true}})
	}
	return e
}

// Judge judges the evidence for an act to a machine, as if all else held; where the machine's own description refuses it, there is
// no proof.
func Judge(act gate.Act, m provider.Machine, now time.Time) gate.Proof {
	p, _ := gate.Judge(Evidence(act, m.Subject(), m.Identity, now), now)
	return p
}

// Pods is a proof that these pods of a Node may be evicted or deleted.
func Pods(t testing.TB, act gate.Act, node string, now time.Time, pods ...types.UID) gate.Proof {
	t.Helper()
	e := Evidence(act, gate.Subject{Node: node}, gate.Identity{}, now)
	e.Pods = pods
	p, err := gate.Judge(e, now)
	require.NoError(t, err)
	return p
}

// Proof is a proof of an act.
func Proof(t testing.TB, act gate.Act, s gate.Subject, id gate.Identity, now time.Time) gate.Proof {
	t.Helper()
	p, err := gate.Judge(Evidence(act, s, id, now), now)
	require.NoError(t, err)
	return p
}
