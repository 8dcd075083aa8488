package host_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
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
		"tries a host that nobody can ask":                  {ask(), []*v1alpha1.Host{made(1, power(host.Unknown))}, "host-01", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, why := host.Choose(c.request, c.hosts)
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
	want, _ := host.Choose(ask(), hosts)
	for range 50 {
		random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		got, _ := host.Choose(ask(), hosts)
		require.Equal(t, want.Name, got.Name)
	}
}
