package sim_test

import (
	"fmt"
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
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/sim"
)

func ask(claim string, attempt int32) provider.Request {
	return provider.Request{Claim: claim, ClaimUID: types.UID("uid-of-" + claim), Attempt: attempt, Pool: "std", Shape: "m",
		Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		Overhead:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("9Gi")}}
}

// boots makes n machines and returns how long each took to its Node, by claim.
func boots(t *testing.T, config sim.Config, claims []string) map[string]time.Duration {
	cloud := newCloud(t, config)
	for _, c := range claims {
		_, err := cloud.Create(ask(c, 1), epoch)
		require.NoError(t, err)
	}
	took := map[string]time.Duration{}
	for _, e := range cloud.Advance(epoch.Add(time.Hour)) {
		require.Equal(t, sim.Joined, e.Kind)
		took[e.Machine.Claim] = e.At.Sub(epoch)
	}
	return took
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("std-%03d", i)
	}
	return out
}

func TestBootTimesStayInTheirBoundsAndHalfAreBelowTheMedian(t *testing.T) {
	config := sim.DefaultConfig()
	took := boots(t, config, names(1000))
	require.Len(t, took, 1000)
	below := 0
	for claim, d := range took {
		require.GreaterOrEqual(t, d, config.BootMin, claim)
		require.LessOrEqual(t, d, config.BootMax, claim)
		if d < config.BootMedian {
			below++
		}
	}
	require.InDelta(t, 500, below, 60)
}

func TestABootTimeDependsOnSeedAndClaimAndNotOnTheOrderOfCalls(t *testing.T) {
	forth, back := names(50), names(50)
	slices.Reverse(back)
	config := sim.DefaultConfig()
	require.Equal(t, boots(t, config, forth), boots(t, config, back))
	other := config
	other.Seed = 7
	require.NotEqual(t, boots(t, config, forth), boots(t, other, forth))
}

func TestAMachineRunsThenJoinsOnce(t *testing.T) {
	config := sim.DefaultConfig()
	config.BootMin, config.BootMedian, config.BootMax = time.Minute, time.Minute, time.Minute
	cloud := newCloud(t, config)
	m, err := cloud.Create(ask("std-000", 1), epoch)
	require.NoError(t, err)
	require.Equal(t, provider.StateCreating, m.State)
	next, ok := cloud.NextEvent()
	require.True(t, ok)
	require.Equal(t, epoch.Add(15*time.Second), next)
	require.Empty(t, cloud.Advance(epoch.Add(time.Minute-1)))
	m, err = cloud.Get(m.ClaimUID, epoch.Add(time.Minute-1))
	require.NoError(t, err)
	require.Equal(t, provider.StateRunning, m.State)
	require.Len(t, cloud.Advance(epoch.Add(time.Minute)), 1)
	require.Empty(t, cloud.Advance(epoch.Add(time.Hour)))
	_, ok = cloud.NextEvent()
	require.False(t, ok)
}

// TestMachinesThatComeApartComeByName: whoever was made first, and although all boot as long.
func TestMachinesThatComeApartComeByName(t *testing.T) {
	config := sim.DefaultConfig()
	config.BootMin, config.BootMedian, config.BootMax, config.Apart = time.Minute, time.Minute, time.Minute, 10*time.Second
	for _, order := range [][]string{{"a-000", "a-001", "b-000"}, {"b-000", "a-001", "a-000"}, {"a-001", "b-000", "a-000"}} {
		cloud := newCloud(t, config)
		for i, claim := range order {
			_, err := cloud.Create(ask(claim, 1), epoch.Add(time.Duration(i)*time.Millisecond))
			require.NoError(t, err)
		}
		late := epoch.Add(40 * time.Second) // due when the last of the others has come
		_, err := cloud.Create(ask("a-002", 1), late)
		require.NoError(t, err)
		var came []string
		var last time.Time
		for _, e := range cloud.Advance(epoch.Add(time.Hour)) {
			came = append(came, e.Machine.Claim)
			require.GreaterOrEqual(t, e.At.Sub(last), config.Apart, "%s after the one before", e.Machine.Claim)
			last = e.At
		}
		require.Equal(t, []string{"a-000", "a-001", "b-000", "a-002"}, came, "made in the order %v", order)
	}
}

func TestADeletedMachineDoesNotJoinAndIsGoneAfterAMoment(t *testing.T) {
	config := sim.DefaultConfig()
	cloud := newCloud(t, config)
	m, err := cloud.Create(ask("std-000", 1), epoch)
	require.NoError(t, err)
	require.NoError(t, cloud.Delete(m, epoch, nil))
	_, err = cloud.Get(m.ClaimUID, epoch.Add(config.DeleteTime-1))
	require.NoError(t, err)
	events := cloud.Advance(epoch.Add(time.Hour))
	require.Len(t, events, 1)
	require.Equal(t, sim.Gone, events[0].Kind)
	require.Equal(t, epoch.Add(config.DeleteTime), events[0].At)
	require.ErrorIs(t, cloud.Delete(m, epoch.Add(time.Hour), nil), provider.ErrNotFound)
	_, err = cloud.Create(ask("std-000", 1), epoch.Add(time.Hour))
	require.ErrorIs(t, err, provider.ErrRefused, "a creation that comes late makes nothing")
}

func TestFailuresHitAboutAsManyAsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		config sim.Config
		made   int // of 1000
		errors int
		joined int
	}{
		"nothing fails":      {sim.Config{}, 1000, 0, 1000},
		"refused":            {sim.Config{FailCreate: 20}, 800, 200, 800},
		"the answer is lost": {sim.Config{Lose: 20}, 1000, 200, 1000},
		"never joins":        {sim.Config{NeverJoin: 20}, 1000, 0, 800},
		"all are refused":    {sim.Config{FailCreate: 100}, 0, 1000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, failed := newCloud(t, c.config), 0
			for _, claim := range names(1000) {
				if _, err := cloud.Create(ask(claim, 1), epoch); err != nil {
					failed++
				}
			}
			require.InDelta(t, c.made, len(cloud.List(epoch)), 50)
			require.InDelta(t, c.errors, failed, 50)
			require.InDelta(t, c.joined, len(cloud.Advance(epoch.Add(time.Hour))), 50)
		})
	}
}

func TestALostAnswerIsFoundByAskingAgain(t *testing.T) {
	cloud := newCloud(t, sim.Config{Lose: 100})
	_, err := cloud.Create(ask("std-000", 1), epoch)
	require.ErrorIs(t, err, provider.ErrUnknown)
	m, err := cloud.Create(ask("std-000", 1), epoch)
	require.NoError(t, err)
	require.Len(t, cloud.List(epoch), 1)
	require.Equal(t, "std-000", m.Claim)
}

func TestAFullBackendRefusesUntilADeletionIsDone(t *testing.T) {
	config := sim.DefaultConfig()
	config.MaxMachines = 2
	cloud := newCloud(t, config)
	first, err := cloud.Create(ask("std-000", 1), epoch)
	require.NoError(t, err)
	_, err = cloud.Create(ask("std-001", 1), epoch)
	require.NoError(t, err)
	require.NoError(t, cloud.Delete(first, epoch, nil))
	_, err = cloud.Create(ask("std-002", 1), epoch)
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	_, err = cloud.Create(ask("std-002", 1), epoch.Add(config.DeleteTime))
	require.NoError(t, err)
}

func TestWhatNoMachineCanBeMadeFromIsRefused(t *testing.T) {
	cloud := newCloud(t, sim.DefaultConfig())
	for name, change := range map[string]func(*provider.Request){
		"no claim":            func(r *provider.Request) { r.Claim = "" },
		"no UID":              func(r *provider.Request) { r.ClaimUID = "" },
		"no attempt":          func(r *provider.Request) { r.Attempt = 0 },
		"no resources":        func(r *provider.Request) { r.Resources = nil },
		"a negative resource": func(r *provider.Request) { r.Resources["cpu"] = resource.MustParse("-1") },
	} {
		r := ask("std-000", 1)
		change(&r)
		_, err := cloud.Create(r, epoch)
		require.ErrorIs(t, err, provider.ErrRefused, name)
	}
	require.Empty(t, cloud.List(epoch))
}

func TestTheNodeOfAMachine(t *testing.T) {
	cloud := newCloud(t, sim.Config{})
	_, err := cloud.Create(ask("std-000", 1), epoch)
	require.NoError(t, err)
	node := sim.NodeOf(cloud.Advance(epoch)[0].Machine)
	name := identity.MadeNodeName("std-000", "uid-of-std-000", 1)
	require.Equal(t, name, node.Name)
	require.Equal(t, "sim://"+name+"/uid-of-std-000", node.Spec.ProviderID)
	require.Equal(t, "uid-of-std-000", node.Status.NodeInfo.SystemUUID)
	require.Equal(t, name, node.Labels[corev1.LabelHostname])
	require.Equal(t, v1alpha1.StartingTaint, node.Spec.Taints[0].Key, "closed from its first moment")
	require.Equal(t, int64(110), node.Status.Capacity.Pods().Value())
	require.Equal(t, int64(4000), node.Status.Capacity.Cpu().MilliValue())
	require.Equal(t, int64(3900), node.Status.Allocatable.Cpu().MilliValue())
	require.Zero(t, node.Status.Allocatable.Memory().Value(), "never below zero")
}

func TestALaterAttemptCanNotBeTakenForAnEarlierOne(t *testing.T) {
	cloud := newCloud(t, sim.Config{})
	first, err := cloud.Create(ask("std-000", 1), epoch)
	require.NoError(t, err)
	require.NoError(t, cloud.Delete(first, epoch, nil))
	second, err := cloud.Create(ask("std-000", 2), epoch.Add(time.Second))
	require.NoError(t, err)
	require.NotEqual(t, first.ProviderID, second.ProviderID)
	require.NotEqual(t, first.ID, second.ID)
	require.NotEqual(t, first.NodeName, second.NodeName)
}

func TestAConfigurationIsTakenOverFromTheAPI(t *testing.T) {
	c := sim.ConfigOf(&v1alpha1.Sim{Seed: 3, MaxMachines: 4, Failures: v1alpha1.SimFailures{Create: 5, Lost: 6, NeverJoin: 7},
		Boot: v1alpha1.BootTime{Min: &metav1.Duration{Duration: time.Second}, Median: &metav1.Duration{Duration: 2 * time.Second}}})
	require.Equal(t, sim.Config{Seed: 3, MaxMachines: 4, FailCreate: 5, Lose: 6, NeverJoin: 7, BootMin: time.Second,
		BootMedian: 2 * time.Second, BootMax: 2 * time.Minute, DeleteTime: 2 * time.Second}, c)
	require.Equal(t, sim.DefaultConfig(), sim.ConfigOf(nil))
}

func TestAConfigurationThatMakesNoSenseNamesItsField(t *testing.T) {
	for field, change := range map[string]func(*sim.Config){
		"boot time":    func(c *sim.Config) { c.BootMin = time.Hour },
		"fail-create":  func(c *sim.Config) { c.FailCreate = 101 },
		"lose":         func(c *sim.Config) { c.Lose = -1 },
		"never-join":   func(c *sim.Config) { c.NeverJoin = 1000 },
		"max-machines": func(c *sim.Config) { c.MaxMachines = -1 },
		"delete time":  func(c *sim.Config) { c.DeleteTime = -1 },
		"apart":        func(c *sim.Config) { c.Apart = -1 },
	} {
		c := sim.DefaultConfig()
		change(&c)
		_, err := sim.NewCloud(c)
		require.ErrorContains(t, err, field)
	}
}
