package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/objects"
	"github.com/muster-sh/muster/provider/host/wol"
)

const (
	// bmcCalls bounds how many calls to BMCs begin in a second, of all hosts together.
	bmcCalls = 20
	// bmcParallel is how many hosts of one lane of a Provider are stepped at a time.
	bmcParallel = 16
)

// hostMaker makes the backends of types redfish, ipmi and wol. They differ by what each Host says of its power.
type hostMaker struct {
	ctx      context.Context //nolint:containedctx // the program's life, for the keepers
	stop     context.CancelFunc
	client   client.Client
	kube     kubernetes.Interface
	nodes    nodeFinder // nil where nobody watches
	gate     host.Gate  // nil where nobody keeps
	live     *capacity.Live
	leading  func() bool
	record   func(about control.Subject, warning bool, reason, message string)
	log      *slog.Logger
	now      func() time.Time
	leases   wol.Leases
	metrics  *hostMetrics
	switches *hostSwitches
	running  sync.WaitGroup

	mu   sync.Mutex
	made map[string]*hostBackend
}

var _ host.Gate = (*control.Gate)(nil)

// hostBackend is what one Provider object was made into.
type hostBackend struct {
	provider *host.Provider
	keeper   *host.Keeper // nil where nobody keeps
	pod      wol.PodConfig
}

// nodeFinder is what the watch on Nodes answers.
type nodeFinder interface {
	Candidates(name, providerID, systemUUID string) []*corev1.Node
}

// make returns the verbs of a Provider, and begins to keep its hosts when it is asked for the first time. Rules that
// changed hold from then on.
func (m *hostMaker) make(p *v1alpha1.Provider) (provider.Provider, error) {
	rules, err := host.RulesOf(p.Spec.Hosts)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.made[p.Name]
	if known == nil {
		known = m.begin(p.Name, rules)
		m.made[p.Name] = known
	} else if known.keeper != nil {
		known.keeper.SetRules(rules)
	}
	known.pod = wol.PodConfigOf(p.Spec.Hosts)
	return known.provider, nil
}

func (m *hostMaker) begin(name string, rules host.Rules) *hostBackend {
	all := &objects.API{Client: m.client}
	b := &hostBackend{provider: host.NewProvider(name, all, m.switches, m.gate, m.now)}
	if m.leading == nil {
		return b // to look only
	}
	b.keeper = &host.Keeper{
		Name: name, Objects: all, Switches: m.switches, Claims: claimSights{m.live}, Gate: m.gate, Recorder: m, Rules: rules,
		Now: m.now, Log: m.log, Leading: m.leading, Parallel: bmcParallel,
		Observe: m.metrics.observeCall(name), States: m.metrics.observeStates(name),
	}
	m.running.Go(func() { b.keeper.Run(m.ctx) })
	return b
}

// end stops the keepers, waits for them and logs out of every BMC.
func (m *hostMaker) end() {
	m.stop()
	m.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	m.switches.close(ctx)
}

// Record makes an event of what happened to a host.
func (m *hostMaker) Record(h *v1alpha1.Host, e host.Event) {
	if m.metrics != nil {
		m.metrics.events.WithLabelValues(h.Spec.Provider, e.Reason).Inc()
	}
	m.record(control.Subject{Kind: "Host", PodReference: v1alpha1.PodReference{Name: h.Name, UID: h.UID}},
		e.Type == corev1.EventTypeWarning, e.Reason, e.Message)
}

// NodeOf finds the Node of a host; two that fit are none.
func (m *hostMaker) NodeOf(h *v1alpha1.Host) *corev1.Node {
	if m.nodes == nil {
		return nil
	}
	found := m.nodes.Candidates("", h.Spec.ProviderID, h.Spec.SystemUUID)
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// cluster is what hosts of a Provider without a BMC are seen and switched off through.
func (m *hostMaker) cluster(provider string) wol.Cluster {
	pod := wol.DefaultPodConfig()
	m.mu.Lock()
	if known := m.made[provider]; known != nil {
		pod = known.pod
	}
	m.mu.Unlock()
	return wol.Kube{Client: m.kube, Nodes: m, Pod: pod, Answers: wol.TCPAnswers, Now: m.now, Leases: &m.leases}
}

// claimSights tells hosts how far their claims are.
type claimSights struct{ live *capacity.Live }

// ClaimOf returns nil for a claim that is not known, or not this one any more.
func (c claimSights) ClaimOf(name string, uid types.UID) *host.ClaimSight {
	claim := c.live.Claim(name)
	if claim == nil || claim.UID != uid {
		return nil
	}
	s := &host.ClaimSight{State: claim.Status.State, Served: claim.Status.ReadyAt != nil, Attempt: claim.Status.Attempts,
		NodeName: claim.Status.NodeName, NodeUID: claim.Status.NodeUID,
		Gone:      claim.Status.MachineID != "" && lifecycle.MachineGone(claim),
		Confirmed: lifecycle.ConfirmedGone(claim)}
	for _, condition := range claim.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReleased && condition.Reason == lifecycle.ReasonTimeout {
			s.TimedOut = true
		}
	}
	return s
}

// Kept returns true for a claim that is gone and whose machine its Provider lists as handed over.
func (c claimSights) Kept(name string, uid types.UID) bool {
	if claim := c.live.Claim(name); claim != nil && claim.UID == uid {
		return false
	}
	return slices.ContainsFunc(c.live.Providers(), func(p *v1alpha1.Provider) bool { return p.Status.Keeps(uid) })
}

// newHostMaker makes a maker that only looks; leading and what follows from it are for the caller to set.
func newHostMaker(ctx context.Context, c client.Client, cs kubernetes.Interface, r *registry) *hostMaker {
	ctx, stop := context.WithCancel(ctx)
	m := &hostMaker{ctx: ctx, stop: stop, client: c, kube: cs, log: r.log, now: r.now, made: map[string]*hostBackend{},
		record: func(control.Subject, bool, string, string) {}}
	m.switches = &hostSwitches{registry: r, cluster: m.cluster, limit: rate.NewLimiter(bmcCalls, bmcCalls), warn: func(h *v1alpha1.Host, message string) {
		m.Record(h, host.Event{Type: corev1.EventTypeWarning, Reason: "InsecureTLS", Message: message})
		m.log.Warn(fmt.Sprintf("host %s: %s", h.Name, message))
	}}
	return m
}
