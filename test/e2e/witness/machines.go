package witness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Machines checks a backend five times a second: one machine per claim, no pool above its maximum. Whatever exists
// counts, also what is being made, has failed or is on its way out.
type Machines struct {
	backend lister
	most    map[string]int // by pool
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex
	found []string
	looks int
	peak  map[string]int
	seen  map[string]Machine
}

type lister interface {
	List(ctx context.Context) ([]Machine, error)
}

// WatchMachines begins to watch. A machine of a pool that Allow was not told of is a finding.
func WatchMachines(ctx context.Context, backend lister) *Machines {
	ctx, cancel := context.WithCancel(ctx)
	m := &Machines{backend: backend, most: map[string]int{}, stop: cancel, peak: map[string]int{}, seen: map[string]Machine{}}
	m.done.Go(func() { m.follow(ctx) })
	return m
}

// Allow says how many machines a pool may have.
func (m *Machines) Allow(pool string, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most[pool] = most
}

func (m *Machines) follow(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = m.look(ctx) // a failed look is made again; the last one, in Verdict, must succeed
		}
	}
}

func (m *Machines) look(ctx context.Context) error {
	machines, err := m.backend.List(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	perPool := map[string]int{}
	perClaim := map[types.UID]string{}
	for _, machine := range machines {
		m.seen[machine.ID] = machine
		perPool[Pool(machine.Claim)]++
		if other, doubled := perClaim[machine.ClaimUID]; doubled {
			m.note("claim %s has two machines: %s and %s", machine.Claim, other, machine.ID)
		}
		perClaim[machine.ClaimUID] = machine.ID
	}
	for pool, n := range perPool {
		m.peak[pool] = max(m.peak[pool], n)
		if most, known := m.most[pool]; !known || n > most {
			m.note("pool %s has %d machines, its maximum is %d", pool, n, most)
		}
	}
	return nil
}

func (m *Machines) note(format string, args ...any) {
	if finding := fmt.Sprintf(format, args...); !slices.Contains(m.found, finding) {
		m.found = append(m.found, finding)
	}
}

// Pool is the pool in a claim's name, <pool>-<slot>.
func Pool(claim string) string {
	if i := strings.LastIndexByte(claim, '-'); i >= 0 {
		return claim[:i]
	}
	return claim
}

// Seen is every machine that ever existed while the witness looked, by its last state.
func (m *Machines) Seen() []Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Machine
	for _, machine := range m.seen {
		all = append(all, machine)
	}
	slices.SortFunc(all, func(a, b Machine) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Verdict looks one last time, stops watching and returns what was found, or an error if the last look failed.
func (m *Machines) Verdict(ctx context.Context) ([]string, error) {
	err := m.look(ctx)
	m.stop()
	m.done.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		return m.found, fmt.Errorf("last look at the machines: %w", err)
	}
	return m.found, nil
}

// Figures says how closely was looked.
func (m *Machines) Figures() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%d looks, %d machines in all, most at once %v", m.looks, len(m.seen), m.peak)
}
