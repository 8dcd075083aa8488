package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// Why a host is not chosen; each is said once for all hosts it holds for.
const (
	whyClaimed     = "in use"
	whyGoing       = "being deleted"
	whyQuarantined = "quarantined"
	whyOn          = "on, but not by Muster"
	whyPool        = "not for this pool"
	whyLabels      = "without the labels asked for"
	whyUnreachable = "not answering"
	whyAnother     = "another machine answers"
	whyTwin        = "not to be told apart from another Host"
)

// maxErrors is how many looks in a row may fail before an idle host counts as one that does not answer.
const maxErrors = 3

// Choose returns the free host that a request gets, or nil and the reasons why not one of them can serve it. What decides,
// in this order: no device wasted that was not asked for, a BMC that answers, the rack with the fewest hosts of the pool,
// the fewest strikes, the least wear, the smallest host, the name. Same hosts, same answer.
// The error is that of a selector that cannot be used.
func Choose(r provider.Request, hosts []*v1alpha1.Host) (*v1alpha1.Host, string, error) {
	picked, err := r.Hosts.Selector()
	if err != nil {
		return nil, "", fmt.Errorf("the selector of hosts: %w", err)
	}
	racks, reasons, twins := map[string]int{}, map[string]int{}, identity.HostTwins(hosts)
	var fit []*v1alpha1.Host
	for _, h := range hosts {
		if c := h.Status.Claim; c != nil && c.Pool == r.Pool {
			racks[h.Spec.Rack]++
		}
		why := unfit(r, picked, h)
		if why == "" && len(twins[h.Name]) > 0 {
			why = whyTwin
		}
		if why != "" {
			reasons[why]++
			continue
		}
		fit = append(fit, h)
	}
	if len(fit) == 0 {
		return nil, told(reasons), nil
	}
	return slices.MinFunc(fit, func(a, b *v1alpha1.Host) int {
		return cmp.Or(
			cmp.Compare(unasked(r, a), unasked(r, b)),
			cmp.Compare(silence(a), silence(b)),
			cmp.Compare(racks[a.Spec.Rack], racks[b.Spec.Rack]),
			cmp.Compare(a.Status.Strikes, b.Status.Strikes),
			cmp.Compare(a.Status.Wear.PowerCycles, b.Status.Wear.PowerCycles),
			compareSize(a, b),
			cmp.Compare(a.Name, b.Name),
		)
	}), "", nil
}

// unfit says why a host cannot serve a request now; empty when it can.
func unfit(r provider.Request, picked labels.Selector, h *v1alpha1.Host) string {
	switch {
	case h.DeletionTimestamp != nil:
		return whyGoing
	case h.Status.Claim != nil:
		return whyClaimed
	case h.Spec.Quarantined || state(h) == v1alpha1.HostQuarantined:
		return whyQuarantined
	case state(h) != v1alpha1.HostOff:
		return whyClaimed
	case h.Status.Met != nil:
		return whyAnother
	case len(h.Spec.Pools) > 0 && !slices.Contains(h.Spec.Pools, r.Pool):
		return whyPool
	case !picked.Matches(labels.Set(h.Labels)):
		return whyLabels
	case Power(h.Status.Power) == On || Power(h.Status.Power) == PoweringOn:
		return whyOn
	case h.Status.Errors >= maxErrors:
		return whyUnreachable
	}
	for _, name := range slices.Sorted(maps.Keys(r.Resources)) {
		want := r.Resources[name]
		has, named := h.Spec.Resources[name]
		if name == corev1.ResourcePods && !named {
			continue // that is the kubelet's to bound, and not the hardware's
		}
		if has.Cmp(want) < 0 {
			return fmt.Sprintf("less than %s %s", want.String(), name)
		}
	}
	return ""
}

// silence is how little is heard of a host: nothing is wrong, its BMC was never read, its last calls failed.
func silence(h *v1alpha1.Host) int {
	power := Power(h.Status.Power)
	switch {
	case h.Status.Errors > 0:
		return 2
	case h.Spec.Power.Interface != v1alpha1.PowerWoL && (power == "" || power == Unknown):
		return 1
	}
	return 0
}

// unasked counts the kinds of devices that a host has and a request does not want: they would lie idle.
func unasked(r provider.Request, h *v1alpha1.Host) int {
	plain := sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceStorage,
		corev1.ResourceEphemeralStorage)
	n := 0
	for name, has := range h.Spec.Resources {
		if want := r.Resources[name]; !plain.Has(name) && has.Sign() > 0 && want.Sign() <= 0 {
			n++
		}
	}
	return n
}

func compareSize(a, b *v1alpha1.Host) int {
	return cmp.Or(a.Spec.Resources.Cpu().Cmp(*b.Spec.Resources.Cpu()), a.Spec.Resources.Memory().Cmp(*b.Spec.Resources.Memory()))
}

func told(reasons map[string]int) string {
	if len(reasons) == 0 {
		return "the provider has no hosts"
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, fmt.Sprintf("%d %s", reasons[why], why))
	}
	return "no free host fits: " + strings.Join(parts, ", ")
}

// state is the state of a host; one that Muster never looked at is off until it is read.
func state(h *v1alpha1.Host) v1alpha1.HostState {
	if h.Status.State == "" {
		return v1alpha1.HostOff
	}
	return h.Status.State
}
