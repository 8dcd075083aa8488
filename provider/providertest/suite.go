// Package providertest holds the one suite that every backend passes. It states what the loops rely on: a machine is
// made once, absence is proven or not claimed, and what is not ours is never touched.
package providertest

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
)

// Backend is a backend under test, empty at first, and what the suite may do to it from behind.
type Backend struct {
	Provider provider.Provider
	// Advance lets the backend's time pass, so that machines boot and deletions end.
	Advance func(d time.Duration)
	// Now is the backend's clock, which proofs are judged by.
	Now func() time.Time
	// Count is how many machines the backend really holds, whoever they belong to.
	Count func() int
	// Foreign makes machines that do not belong to the claims of the suite, by what they are ("a template"), and returns
	// the ID and how to see whether it is still untouched.
	Foreign map[string]func() (id provider.ID, untouched func() bool)
	// Blind makes the backend answer only in part, as to somebody who may not see everything; nil where it cannot.
	Blind func()
	// NoObject is what a machine is whose object is not there, where the backend knows machines by objects that people can delete: the
	// object is gone, and the machine may be on. Nil for ErrNotFound.
	NoObject error
	// CannotStop says that its machines cannot be switched off from outside.
	CannotStop bool
	// Rotate changes the credentials, at the backend and where the provider reads them; nil where there are none.
	Rotate func()
	// Secrets may be in no text that the provider writes; Log is what it has logged so far, nil when it logs nothing.
	Secrets []string
	Log     func() string
	// Wire is what the client sends its requests through; nil when there is no wire, and nothing on it to go wrong.
	Wire *Wire
}

// Factory makes an empty backend for one test.
type Factory func(t *testing.T) Backend

// longEnough is time for a machine to boot and for a deletion to end.
const longEnough = time.Hour

// Run runs the suite.
func Run(t *testing.T, factory Factory) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Backend)
	}{
		{"create twice is one machine", createTwice},
		{"a machine is found by its claim and in the list", found},
		{"a machine says which cluster it belongs to", whose},
		{"what was never made is not found", neverMade},
		{"a machine comes to run and can be told by its node", runs},
		{"a deletion is done when absence is proven", deletes},
		{"a machine may go before it runs", deletesHalf},
		{"the next attempt waits until the machine before it is gone", nextAttempt},
		{"an attempt that is over is not made again", attemptOver},
		{"a deletion needs the whole identity", wrongIdentity},
		{"the name of a claim is not its identity", sameName},
		{"a stopped machine is started again, and is the same", stops},
		{"a stopped machine may be given back", deletesStopped},
		{"a stop needs the whole identity", stopsOthers},
		{"what is not there, or is going, is not stopped", stopsNothing},
		{"a call that nobody waits for says nothing", cancelled},
		{"many callers at once make one machine for each claim", concurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, factory(t)) })
	}
	probe := factory(t)
	for _, kind := range slices.Sorted(maps.Keys(probe.Foreign)) {
		t.Run("somebody else's is not touched: "+kind, func(t *testing.T) { foreign(t, factory(t), kind) })
	}
	if probe.Blind != nil {
		t.Run("who sees a part proves nothing", func(t *testing.T) { blind(t, factory(t)) })
	}
	if probe.Rotate != nil {
		t.Run("credentials may change under way", func(t *testing.T) { rotated(t, factory(t)) })
	}
	if probe.Wire != nil {
		runWire(t, factory)
	}
}

// request is a request for the claim of this name; its UID is derived from the name.
func request(claim string, attempt int32) provider.Request {
	return provider.Request{
		Claim: claim, ClaimUID: uidOf(claim), Attempt: attempt, Pool: "std", Shape: "m",
		Cluster:   cluster,
		Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		Overhead:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}
}

// cluster is whose claims the suite plays.
const cluster = types.UID("4c1d0f7e-0000-4000-8000-00000000000a")

func uidOf(claim string) types.UID { return types.UID("9b1f3a52-0000-4000-8000-" + claim) }

// of is all that a claim knows before its provider has named a machine.
func of(claim types.UID) provider.Machine { return provider.Machine{ClaimUID: claim} }
