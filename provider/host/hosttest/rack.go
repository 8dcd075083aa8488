package hosttest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
)

// Epoch is when the clocks of tests begin.
var Epoch = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// Clock is set by hand.
type Clock struct{ passed atomic.Int64 }

// Now is the time.
func (c *Clock) Now() time.Time { return Epoch.Add(time.Duration(c.passed.Load())) }

// Set moves the time to t.
func (c *Clock) Set(t time.Time) { c.passed.Store(int64(t.Sub(Epoch))) }

// Rack is a provider with its keeper over Host objects in memory, in time that is moved by hand.
type Rack struct {
	*Clock
	Objects  *Objects
	Provider *host.Provider
	Keeper   *host.Keeper
	Claims   Claims
	Gate     *Gate

	mu     sync.Mutex
	events []string
}

// ProviderName is the Provider of all hosts of a Rack.
const ProviderName = "metal"

// NewRack makes a Rack; switches are the drivers under test.
func NewRack(switches host.Switches, hosts ...*v1alpha1.Host) *Rack {
	r := &Rack{Clock: &Clock{}, Objects: NewObjects(hosts...)}
	r.Gate = &Gate{Now: r.Now}
	r.Provider = host.NewProvider(ProviderName, r.Objects, switches, r.Gate, r.Now)
	r.Keeper = &host.Keeper{
		Name: ProviderName, Objects: r.Objects, Switches: switches, Claims: &r.Claims, Gate: r.Gate, Recorder: r, Rules: host.DefaultRules(),
		Now: r.Now, Log: slog.New(slog.DiscardHandler), Parallel: 8,
	}
	return r
}

// Record keeps an event.
func (r *Rack) Record(h *v1alpha1.Host, e host.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%s %s", h.Name, e.Reason))
}

// Events are the hosts and reasons of what was recorded.
func (r *Rack) Events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.events...)
}

// Advance lets time pass: the keeper makes a pass whenever a host is due.
func (r *Rack) Advance(t *testing.T, d time.Duration) {
	t.Helper()
	end := r.Now().Add(d)
	for {
		require.NoError(t, r.Keeper.Pass(t.Context()))
		r.Keeper.Wait()
		next, any := r.Keeper.NextDue()
		if soon := r.Now().Add(time.Second); next.Before(soon) {
			next = soon
		}
		if !any || next.After(end) {
			break
		}
		r.Set(next)
	}
	r.Set(end)
}

// Claims are claims by UID.
type Claims struct {
	mu    sync.Mutex
	known map[types.UID]host.ClaimSight
	kept  map[types.UID]bool
}

// Set says how far a claim is.
func (c *Claims) Set(uid types.UID, s host.ClaimSight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[types.UID]host.ClaimSight{}
	}
	c.known[uid] = s
}

// Forget has nothing known of a claim.
func (c *Claims) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, uid)
}

// ClaimOf returns how far a claim is, nil when nothing was set.
func (c *Claims) ClaimOf(_ string, uid types.UID) *host.ClaimSight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.known[uid]; ok {
		return &s
	}
	return nil
}

// Keep says that a claim is gone and its machine is the user's.
func (c *Claims) Keep(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, uid)
	if c.kept == nil {
		c.kept = map[types.UID]bool{}
	}
	c.kept[uid] = true
}

// Kept says whether that was said.
func (c *Claims) Kept(_ string, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[uid]
}

// SwitchFunc makes a function the switches of all hosts.
type SwitchFunc func(ctx context.Context, h *v1alpha1.Host) (host.Switch, error)

// Switch calls the function.
func (f SwitchFunc) Switch(ctx context.Context, h *v1alpha1.Host) (host.Switch, error) {
	return f(ctx, h)
}

// Host is a host of ProviderName with 8 CPUs and 16 GiB; its power is for the caller to fill in, with a BMC of its own where that is
// at bmc.example.
func Host(n int, power v1alpha1.Power) *v1alpha1.Host {
	power.Address = strings.Replace(power.Address, "bmc.example", fmt.Sprintf("bmc-%02d.example", n), 1)
	return &v1alpha1.Host{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%02d", n), UID: types.UID(fmt.Sprintf("uid-%02d", n))},
		Spec: v1alpha1.HostSpec{
			Provider: ProviderName, Power: power, Rack: fmt.Sprintf("rack-%d", n%3), SystemUUID: UUID(n),
			Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi")},
		},
	}
}

// UUID is the system UUID of a host.
func UUID(n int) string { return fmt.Sprintf("6d757374-6572-4000-8000-%012d", n) }
