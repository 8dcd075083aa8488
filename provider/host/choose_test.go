package host_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

func ask(resources ...string) provider.Request {
	r := provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std", Resources: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}}
	for i := 0; i+1 < len(resources); i += 2 {
		r.Resources[corev1.ResourceName(resources[i])] = resource.MustParse(resources[i+1])
	}
	return r
}

// made is a host changed by the functions.
func made(n int, change ...func(*v1alpha1.Host)) *v1alpha1.Host {
	h := hosttest.Host(n, redfishPower)
	h.Spec.Rack, h.Status.Power = "", string(host.Off)
	for _, c := range change {
		c(h)
	}
	return h
}

func labelled(key, value string) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Labels = map[string]string{key: value} }
}

// picking is a request for hosts with these labels.
func picking(s v1alpha1.HostSelector) provider.Request {
	r := ask()
	r.Hosts = &s
	return r
}

func requiring(key string, op metav1.LabelSelectorOperator, values ...v1alpha1.LabelValue) provider.Request {
	return picking(v1alpha1.HostSelector{MatchExpressions: []v1alpha1.HostRequirement{{Key: key, Operator: op, Values: values}}})
}

func noBMC(h *v1alpha1.Host)                  { h.Spec.Power.Interface = v1alpha1.PowerWoL }
func inRack(rack string) func(*v1alpha1.Host) { return func(h *v1alpha1.Host) { h.Spec.Rack = rack } }
func cycles(n int64) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Status.Wear.PowerCycles = n }
}
func strikes(n int32) func(*v1alpha1.Host) { return func(h *v1alpha1.Host) { h.Status.Strikes = n } }
func power(p host.Power) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Status.Power = string(p) }
}
func failures(n int32) func(*v1alpha1.Host)  { return func(h *v1alpha1.Host) { h.Status.Errors = n } }
func pools(p ...string) func(*v1alpha1.Host) { return func(h *v1alpha1.Host) { h.Spec.Pools = p } }
func in(s v1alpha1.HostState) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Status.State = s }
}
func has(name corev1.ResourceName, n string) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Spec.Resources[name] = resource.MustParse(n) }
}
func claimedFor(pool string) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) {
		h.Status.State = v1alpha1.HostReady
		h.Status.Claim = &v1alpha1.HostClaim{Name: pool + "-001", UID: "other", Pool: pool, At: metav1.NewMicroTime(hosttest.Epoch)}
	}
}

func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		request provider.Request
		hosts   []*v1alpha1.Host
		want    string
		why     string
	}{
		"takes a free host":             {ask(), []*v1alpha1.Host{made(1)}, "host-01", ""},
		"has nothing to choose from":    {ask(), nil, "", "the provider has no hosts"},
		"leaves out what is too small":  {ask("cpu", "9"), []*v1alpha1.Host{made(1)}, "", "no free host fits: 1 less than 9 cpu"},
		"leaves out what lacks a GPU":   {ask("nvidia.com/gpu", "1"), []*v1alpha1.Host{made(1), made(2, has(gpu, "2"))}, "host-02", ""},
		"leaves out what lacks storage": {ask("ephemeral-storage", "1Ti"), []*v1alpha1.Host{made(1)}, "", "no free host fits: 1 less than 1Ti ephemeral-storage"},
		"asks no hardware for pods":     {ask("pods", "110"), []*v1alpha1.Host{made(1)}, "host-01", ""},
		"but a host that names them":    {ask("pods", "110"), []*v1alpha1.Host{made(1, has("pods", "50"))}, "", "no free host fits: 1 less than 110 pods"},
		"leaves out what is quarantined, claimed, broken, on, or going": {ask(), []*v1alpha1.Host{
			made(1, in(v1alpha1.HostQuarantined)), made(2, func(h *v1alpha1.Host) { h.Spec.Quarantined = true }),
			made(3, claimedFor("std")), made(4, failures(3)), made(5, power(host.On)), made(6, power(host.PoweringOn)),
			made(7, func(h *v1alpha1.Host) { h.DeletionTimestamp = &metav1.Time{Time: hosttest.Epoch} }),
		}, "", "no free host fits: 1 being deleted, 1 in use, 1 not answering, 2 on, but not by Muster, 2 quarantined"},
		"keeps to the pools a host is for": {ask(), []*v1alpha1.Host{made(1, pools("gpu", "big")), made(2, pools("gpu", "std"))}, "host-02", ""},
		"wastes no GPU on a pod without":   {ask(), []*v1alpha1.Host{made(1, has(gpu, "4")), made(2, cycles(1000))}, "host-02", ""},
		"spreads a pool over racks": {ask(), []*v1alpha1.Host{
			made(1, inRack("a"), claimedFor("std")), made(2, inRack("a")), made(3, inRack("b"), cycles(50))}, "host-03", ""},
		"counts only the same pool's hosts in a rack": {ask(), []*v1alpha1.Host{
			made(1, inRack("a"), claimedFor("gpu")), made(2, inRack("a")), made(3, inRack("b"), cycles(50))}, "host-02", ""},
		"takes the least worn":                    {ask(), []*v1alpha1.Host{made(1, cycles(7)), made(2, cycles(6)), made(3, cycles(8))}, "host-02", ""},
		"prefers wear to a host that failed once": {ask(), []*v1alpha1.Host{made(1, strikes(1)), made(2, cycles(99))}, "host-02", ""},
		"takes the smallest of equals":            {ask(), []*v1alpha1.Host{made(1, has("cpu", "64")), made(2)}, "host-02", ""},
		"prefers a BMC that answers to an empty rack": {ask(), []*v1alpha1.Host{
			made(1, inRack("a"), claimedFor("std")), made(2, inRack("a"), cycles(9)), made(3, inRack("b"), failures(1))}, "host-02", ""},
		"prefers a BMC that was read to one that never was": {ask(), []*v1alpha1.Host{made(1, power("")), made(2, cycles(9))}, "host-02", ""},
		"and one that never was to one that failed":         {ask(), []*v1alpha1.Host{made(1, failures(1)), made(2, power(""))}, "host-02", ""},
		"has nobody to ask at a host without a BMC":         {ask(), []*v1alpha1.Host{made(1, power(host.Unknown), noBMC), made(2, cycles(9))}, "host-01", ""},
		"picks by a label": {picking(v1alpha1.HostSelector{MatchLabels: map[string]v1alpha1.LabelValue{"gen": "9"}}),
			[]*v1alpha1.Host{made(1), made(2, labelled("gen", "8")), made(3, labelled("gen", "9"), cycles(9))}, "host-03", ""},
		"picks by one of several values": {requiring("gen", metav1.LabelSelectorOpIn, "9", "10"),
			[]*v1alpha1.Host{made(1), made(2, labelled("gen", "10"))}, "host-02", ""},
		"picks what lacks a label": {requiring("lab", metav1.LabelSelectorOpDoesNotExist),
			[]*v1alpha1.Host{made(1, labelled("lab", "")), made(2, cycles(9))}, "host-02", ""},
		"says that none has the labels": {picking(v1alpha1.HostSelector{MatchLabels: map[string]v1alpha1.LabelValue{"gen": "9"}}),
			[]*v1alpha1.Host{made(1), made(2)}, "", "no free host fits: 2 without the labels asked for"},
		"tries a host that nobody can ask": {ask(), []*v1alpha1.Host{made(1, power(host.Unknown))}, "host-01", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, why, err := host.Choose(c.request, c.hosts)
			require.NoError(t, err)
			got := ""
			if h != nil {
				got = h.Name
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.why, why)
		})
	}
}

func TestTheOrderOfHostsDoesNotDecide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var hosts []*v1alpha1.Host
	for n := range 40 {
		hosts = append(hosts, made(n, inRack(string(rune('a'+random.IntN(4)))), cycles(random.Int64N(3))))
		if random.IntN(3) == 0 {
			claimedFor("std")(hosts[n])
		}
	}
	want, _, _ := host.Choose(ask(), hosts)
	for range 50 {
		random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		got, _, _ := host.Choose(ask(), hosts)
		require.Equal(t, want.Name, got.Name)
	}
}

func TestASelectorThatCannotBeUsedIsTheOperators(t *testing.T) {
	rack, _ := rackOf(t, 1)
	_, err := rack.Provider.Create(t.Context(), requiring("gen", "Near", "9"))
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.Contains(t, provider.HintOf(err), "template.hosts")
}

// Twelve claims over three racks with unequally worn hosts: four in each rack, the least worn of each.
func TestAPoolIsSpreadOverRacksAndTakesTheLeastWorn(t *testing.T) {
	rack, _ := rackOf(t, 0)
	for n := range 24 {
		rack.Objects.Put(made(n, inRack(string(rune('a'+n%3))), cycles(int64(n/3))))
	}
	taken := map[string]int{}
	for n := range 12 {
		r := ask()
		r.Claim, r.ClaimUID = fmt.Sprintf("std-%03d", n), types.UID(fmt.Sprint(n))
		m, err := rack.Provider.Create(t.Context(), r)
		require.NoError(t, err)
		taken[m.Rack]++
		require.Less(t, rack.Objects.Get(m.Host).Status.Wear.PowerCycles, int64(4), "one of the four least worn of its rack")
		require.LessOrEqual(t, slices.Max(slices.Collect(maps.Values(taken)))-n/3, 1, "never two ahead")
	}
	require.Equal(t, map[string]int{"a": 4, "b": 4, "c": 4}, taken)
}

// Hosts take turns: over many claims none is powered on more than once more often than another.
func TestHostsWearAlike(t *testing.T) {
	o, _ := rackOf(t, 4)
	for n := range 12 {
		r := ask()
		r.Claim, r.ClaimUID = "std-000", types.UID(fmt.Sprint(n))
		m, err := o.Provider.Create(t.Context(), r)
		require.NoError(t, err)
		o.Advance(t, time.Minute)
		o.Claims.Set(r.ClaimUID, host.ClaimSight{State: v1alpha1.ClaimReady})
		o.Advance(t, 2*time.Minute)
		require.NoError(t, o.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, o.Now())))
		o.Advance(t, 10*time.Minute)
	}
	for n := range 4 {
		require.EqualValues(t, 3, o.Objects.Get(hosttest.Host(n, redfishPower).Name).Status.Wear.PowerCycles)
	}
}

func TestAMachineSaysWhereItIs(t *testing.T) {
	for zone, want := range map[string]string{"": "rack-1", "hall-2": "hall-2"} {
		rack, _ := rackOf(t, 0)
		h := hosttest.Host(1, redfishPower)
		h.Spec.Zone = zone
		rack.Objects.Put(h)
		m, err := rack.Provider.Create(t.Context(), ask())
		require.NoError(t, err)
		require.Equal(t, []string{"host-01", "rack-1", want}, []string{m.Host, m.Rack, m.Zone})
	}
}
