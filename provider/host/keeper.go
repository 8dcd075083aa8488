package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Keeper does for the hosts of one Provider what Step decides: it writes the status, makes the call, and steps again.
// Each host is stepped by one goroutine at a time, and each call is made by the process that wrote the intent.
type Keeper struct {
	Name     string // of the Provider
	Objects  Objects
	Switches Switches
	Claims   Claims
	// Gate permits the taking of power; without one it is never taken.
	Gate     Gate
	Recorder Recorder
	Rules    Rules // to begin with; SetRules changes them
	Now      func() time.Time
	Log      *slog.Logger
	// Leading is asked before each write and each call.
	Leading func() bool
	// Parallel is how many hosts of one lane are stepped at a time.
	Parallel int
	// Observe is told each call and how it ended.
	Observe func(host string, call Call, err error, took time.Duration)
	// States is told how many hosts are in each state after a pass.
	States func(map[v1alpha1.HostState]int)

	mu      sync.Mutex
	hosts   map[string]*memory
	term    time.Time // when this process began to keep hosts; zero while another one may
	slots   [lanes]chan struct{}
	running sync.WaitGroup
}

// memory is what is known of a host beside its object; a restart may forget it.
type memory struct {
	busy    sync.Mutex
	look    Look
	outcome *Outcome
	uid     string

	// Guarded by the Keeper: when the host is to be stepped, and the version it was last stepped at.
	due   time.Time
	seen  string
	twins string // of the last pass
	lane  int
	left  chan struct{}
}

// callTimeout bounds one call to a switch: a BMC that does not answer for so long will not.
const callTimeout = 45 * time.Second

// Pass looks at every host once and begins to step those that are due or have changed. It waits for none of them.
func (k *Keeper) Pass(ctx context.Context) error {
	all, err := k.Objects.List(ctx)
	if err != nil {
		return fmt.Errorf("list hosts: %w", err)
	}
	hosts, twins := of(k.Name, all), identity.HostTwins(all)
	k.count(hosts)
	k.began()
	for _, h := range hosts {
		m, due := k.remember(h, strings.Join(twins[h.Name], ", "))
		if !due {
			continue
		}
		way := lane(h)
		if !m.busy.TryLock() {
			k.leave(m, way)
			continue
		}
		left := k.queue(m, way)
		double := h.Status.Claim != nil && claimedBy(hosts, h.Status.Claim.UID) != h
		k.running.Go(func() {
			defer m.busy.Unlock()
			select {
			case k.slots[way] <- struct{}{}:
				defer func() { <-k.slots[way] }()
			case <-left: // the next pass has it in another lane
				return
			}
			k.steps(ctx, h, m, Observed{Double: double, Twins: twins[h.Name]})
		})
	}
	return nil
}

// SetRules has the rules hold from the next step of each host on.
func (k *Keeper) SetRules(r Rules) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Rules = r
	for _, m := range k.hosts {
		m.due = time.Time{} // what was waited for may be over by now
	}
}

// began is since when this process keeps the hosts.
func (k *Keeper) began() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.term.IsZero() {
		k.term = k.Now()
	}
	return k.term
}

// rest notes that another process may keep the hosts.
func (k *Keeper) rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.term = time.Time{}
}

func (k *Keeper) rules() Rules {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Rules
}

// lanes keep hosts apart, so that those whose BMCs do not answer wait for each other only, and those that a claim waits
// for do not wait for idle ones.
const lanes = 3

// lane is where a host waits for its turn.
func lane(h *v1alpha1.Host) int {
	switch {
	case h.Status.Errors > 0:
		return 2
	case h.Status.Claim == nil:
		return 1
	}
	return 0
}

// queue notes the lane that a host waits in, and returns what is closed when it has to leave it.
func (k *Keeper) queue(m *memory, way int) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	m.lane, m.left = way, make(chan struct{})
	return m.left
}

// leave has a host that still waits for its turn leave its lane when it belongs into another one by now: one that was idle
// and is claimed must not wait for idle ones.
func (k *Keeper) leave(m *memory, way int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.lane != way && m.left != nil {
		close(m.left)
		m.left = nil
	}
}

// Wait returns when the steps of all passes so far have ended.
func (k *Keeper) Wait() { k.running.Wait() }

// count tells how many hosts are in each state, those without any included.
func (k *Keeper) count(hosts []*v1alpha1.Host) {
	if k.States == nil {
		return
	}
	counts := map[v1alpha1.HostState]int{}
	for _, r := range Table() {
		counts[r.State] = 0
	}
	for _, h := range hosts {
		counts[state(h)]++
	}
	k.States(counts)
}

// remember returns what is known of a host, and whether it is to be stepped. Of another object with the same name nothing
// is known.
func (k *Keeper) remember(h *v1alpha1.Host, twins string) (*memory, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hosts == nil {
		k.hosts = map[string]*memory{}
		for i := range k.slots {
			k.slots[i] = make(chan struct{}, max(k.Parallel, 1))
		}
	}
	m := k.hosts[h.Name]
	if m == nil || m.uid != string(h.UID) {
		m = &memory{uid: string(h.UID)}
		k.hosts[h.Name] = m
	}
	changed := m.twins != twins
	m.twins = twins
	return m, changed || m.seen != h.ResourceVersion || !k.Now().Before(m.due)
}

// NextDue is the earliest time a known host is due; false when there is none.
func (k *Keeper) NextDue() (time.Time, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var first time.Time
	for _, m := range k.hosts {
		if first.IsZero() || m.due.Before(first) {
			first = m.due
		}
	}
	return first, len(k.hosts) > 0
}

// maxSteps bounds the steps of one host in one pass; the next pass goes on.
const maxSteps = 4

// steps steps a host until it waits for something.
func (k *Keeper) steps(ctx context.Context, h *v1alpha1.Host, m *memory, o Observed) {
	for range maxSteps {
		if ctx.Err() != nil || k.Leading != nil && !k.Leading() {
			return
		}
		next, more, err := k.step(ctx, h, m, o)
		if err != nil {
			k.Log.Warn("host", "host", h.Name, "error", err)
			k.again(m, time.Second)
			return
		}
		if !more {
			return
		}
		h = next
	}
	k.again(m, 0)
}

// step observes, decides, records and performs once. It returns false when the host waits.
func (k *Keeper) step(ctx context.Context, h *v1alpha1.Host, m *memory, o Observed) (*v1alpha1.Host, bool, error) {
	r := k.decide(ctx, h, m, o)
	if r.Err != nil {
		return h, false, r.Err
	}
	m.outcome = nil
	next := r.Host
	if !reflect.DeepEqual(h.Status, r.Host.Status) {
		written, err := k.Objects.UpdateStatus(ctx, r.Host)
		if errors.Is(err, ErrConflict) {
			k.again(m, 0)
			return h, false, nil
		}
		if err != nil {
			return h, false, fmt.Errorf("write the status: %w", err)
		}
		next = written
	}
	next, there, err := k.settle(ctx, next)
	if err != nil {
		return h, false, err
	}
	k.stepped(m, next.ResourceVersion, r.Next)
	for _, e := range r.Events {
		k.Recorder.Record(next, e)
		k.Log.Info("host", "host", h.Name, "reason", e.Reason, "message", e.Message)
	}
	if !there {
		k.again(m, 0)
		return next, false, nil
	}
	if k.awaited(next) {
		k.again(m, awaitedEvery)
	}
	if r.Call == CallNone {
		return next, false, nil
	}
	out := k.call(ctx, next, r.Call)
	m.look, m.outcome = m.look.After(out), &out
	return next, true, nil
}

// decide is Step, and what is said of a host that is being deleted or whose machine was handed over.
func (k *Keeper) decide(ctx context.Context, h *v1alpha1.Host, m *memory, o Observed) Result {
	if c := h.Status.Claim; c != nil && k.Claims != nil && k.Claims.Kept(c.Name, c.UID) {
		free, e := letGo(h, k.Now())
		return Result{Host: free, Events: []Event{e}}
	}
	r := Step(h, k.observe(ctx, h, m, o), k.rules(), k.Now())
	if r.Err == nil {
		r.Events = append(r.Events, tellDeletion(r.Host, k.Now())...)
	}
	return r
}

// stepped notes the version that a decision was made on, and when the next one is due.
func (k *Keeper) stepped(m *memory, version string, next time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if next == 0 {
		next = k.Rules.Idle
	}
	m.seen, m.due = version, k.Now().Add(next)
}

func (k *Keeper) again(m *memory, in time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m.due = k.Now().Add(in)
}

func (k *Keeper) observe(ctx context.Context, h *v1alpha1.Host, m *memory, o Observed) Observed {
	o.Look, o.Outcome, o.Term = m.look, m.outcome, k.began()
	c := h.Status.Claim
	if c == nil {
		return o
	}
	if k.Claims != nil {
		o.Claim = k.Claims.ClaimOf(c.Name, c.UID)
	}
	if o.Claim == nil && k.Gate != nil && h.Status.State == v1alpha1.HostPoweringOff && Power(powerText(m.look)) == Unknown {
		if claimed, err := k.Gate.Claimed(ctx, c.UID); err == nil && !claimed {
			o.Claim = &ClaimSight{Gone: true}
		}
	}
	return o
}

// call makes one call to the host's switch.
func (k *Keeper) call(ctx context.Context, h *v1alpha1.Host, c Call) Outcome {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := Outcome{Call: c, Began: k.Now()}
	s, err := k.Switches.Switch(ctx, h)
	if err != nil {
		out.Err = err
	} else {
		out.Reading, out.Err = k.perform(ctx, s, c, h)
	}
	if k.Observe != nil {
		k.Observe(h.Name, c, out.Err, k.Now().Sub(out.Began))
	}
	return out
}

// permit asks the gate, when the switch has met the machine.
func (k *Keeper) permit(h *v1alpha1.Host) Permit {
	return func(ctx context.Context, met v1alpha1.MachineIdentity) (gate.Proof, error) {
		if k.Gate == nil {
			return gate.Proof{}, &Denied{errNoGate}
		}
		p, err := k.Gate.PowerOff(ctx, h, met, k.Objects.List)
		if err != nil {
			return gate.Proof{}, &Denied{err}
		}
		return p, nil
	}
}

func (k *Keeper) perform(ctx context.Context, s Switch, c Call, h *v1alpha1.Host) (Reading, error) {
	switch c {
	case CallRead:
		r, err := s.Read(ctx)
		if err == nil {
			err = Bind(h, k.Now).Same(r.Identity)
		}
		if err != nil {
			return Reading{}, err
		}
		return r, nil
	case CallOn:
		boot := h.Spec.Power.Boot
		if boot == "" && h.Status.BootOverride != "" { // of an earlier claim
			if err := s.ClearBoot(ctx); err != nil {
				return Reading{}, err
			}
		}
		return Reading{}, s.On(ctx, boot)
	case CallClear:
		return Reading{}, s.ClearBoot(ctx)
	case CallShutdown:
		return Reading{}, s.Shutdown(ctx, k.permit(h))
	case CallOff:
		return Reading{}, s.Off(ctx, k.permit(h))
	}
	return Reading{}, fmt.Errorf("call %q: %w", c, provider.ErrRefused)
}
