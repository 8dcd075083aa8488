package volume

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWaitingClaims asks about a pod with the claim "data", unbound and of a class that waits for it, and node n1 in zone a.
func TestWaitingClaims(t *testing.T) {
	nothing := storageClass("fast", static)
	for name, c := range map[string]struct {
		there  objects
		claim  claimChange
		want   Cause
		detail string
		gets   string // the volume that it would be bound to
	}{
		"a free volume that fits": {there: objects{nothing, pv("v")}, gets: "v"},
		"no volume at all":        {there: objects{nothing}, want: NothingToBind},
		"the smallest of those that are large enough": {
			there: objects{nothing, pv("a", holds("30Gi")), pv("b", holds("20Gi")), pv("c", holds("5Gi"))}, gets: "b"},
		"the first by name of those that are as small": {there: objects{nothing, pv("b"), pv("a")}, gets: "a"},
		"one that is too small":                        {there: objects{nothing, pv("v", holds("9Gi"))}, want: NothingToBind},
		"one of another class": {
			there: objects{nothing, pv("v", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "slow" })}, want: NothingToBind},
		"one that is promised to another claim": {there: objects{nothing, pv("v", promised("other", ""))}, want: NothingToBind},
		"one that is promised to an older claim of the same name": {
			there: objects{nothing, pv("v", promised("data", "uid-older"))}, want: NothingToBind},
		"one that is promised to it comes before a smaller one": {
			there: objects{nothing, pv("a"), pv("v", holds("30Gi"), promised("data", ""))}, gets: "v"},
		"one that is promised to it elsewhere leaves no other": {
			there: objects{nothing, pv("a"), pv("v", promised("data", "uid-data"), near(corev1.LabelHostname, "n2"))}, want: NothingToBind},
		"one that is not available any more": {
			there: objects{nothing, pv("v", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased })}, want: NothingToBind},
		"one that is being deleted": {
			there: objects{nothing, pv("v", func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &deleted })}, want: NothingToBind},
		"one with fewer access modes": {
			there: objects{nothing, pv("v")}, want: NothingToBind, claim: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadWriteMany)
			}},
		"one of another mode": {
			there: objects{nothing, pv("v")}, want: NothingToBind,
			claim: func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }},
		"one with other attributes": {
			there: objects{nothing, pv("v")}, want: NothingToBind,
			claim: func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("gold") }},
		"one that the selector leaves out": {
			there: objects{nothing, pv("a"), pv("b", labelled("tier", "gold"))}, gets: "b",
			claim: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
			}},
		"a selector that cannot be read": {
			there: objects{nothing, pv("a")}, want: Unreadable, detail: "the selector of claim data",
			claim: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Near"}}}
			}},
		"one that the node does not reach": {
			there: objects{nothing, pv("a", near(corev1.LabelHostname, "n2")), pv("b", holds("50Gi"), near(corev1.LabelHostname, "n1"))}, gets: "b"},

		"a volume can be made": {there: objects{storageClass("fast")}},
		"a volume may be made in this zone": {
			there: objects{storageClass("fast", onlyIn(corev1.LabelTopologyZone, "b"), onlyIn(corev1.LabelTopologyZone, "c", "a"))}},
		"a volume may be made in another zone": {
			there: objects{storageClass("fast", onlyIn(corev1.LabelTopologyZone, "b"))}, want: NothingToBind},
		"a volume may be made where a label is that the node has not": {
			there: objects{storageClass("fast", onlyIn("topology.disk.example.com/zone", "a"))}, want: NothingToBind},
		"a place without labels allows nothing": {
			there: objects{storageClass("fast", func(c *storagev1.StorageClass) { c.AllowedTopologies = []corev1.TopologySelectorTerm{{}} })},
			want:  NothingToBind},
		"the claim was sent to this node":    {there: objects{storageClass("fast")}, claim: sentTo("n1")},
		"the claim was sent to another node": {there: objects{storageClass("fast")}, claim: sentTo("n2"), want: NothingToBind},
		"a claim that was sent somewhere takes no free volume": {
			there: objects{nothing, pv("v")}, claim: sentTo("n1"), want: NothingToBind},

		"the driver says that it has room":          {there: objects{storageClass("fast"), tracking(true), roomIn("a", "10Gi")}},
		"the driver says that it has not enough":    {there: objects{storageClass("fast"), tracking(true), roomIn("a", "9Gi")}, want: NotEnoughStorage, detail: "fast"},
		"the driver has room in another zone":       {there: objects{storageClass("fast"), tracking(true), roomIn("b", "90Gi")}, want: NotEnoughStorage, detail: "fast"},
		"the driver says nothing":                   {there: objects{storageClass("fast"), tracking(true)}, want: NotEnoughStorage, detail: "fast"},
		"the driver does not say how much room":     {there: objects{storageClass("fast"), tracking(false), roomIn("a", "1Gi")}},
		"the largest single volume counts for more": {there: objects{storageClass("fast"), tracking(true), largestOf("5Gi")}, want: NotEnoughStorage, detail: "fast"},
		"room that no node reaches": {
			there: objects{storageClass("fast"), tracking(true), func() *storagev1.CSIStorageCapacity {
				c := roomIn("a", "90Gi")
				c.NodeTopology = nil
				return c
			}()}, want: NotEnoughStorage, detail: "fast"},
		"a claim without a size asks for no room": {
			there: objects{storageClass("fast"), tracking(true)},
			claim: func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			claim := pvc("data")
			if c.claim != nil {
				c.claim(claim)
			}
			s := with(append(c.there, claim)...)
			n1, d := s.Site(node("n1"), true), NewDemand(pod("p", using("data")...))
			if c.want == NothingToBind {
				c.detail = "data"
			}
			require.Equal(t, Refusal{Cause: c.want, Detail: c.detail}, s.Judge(d, n1))
			s.Put(d, n1)
			require.Equal(t, c.gets, got(s, "data"))
		})
	}
}

func largestOf(size string) *storagev1.CSIStorageCapacity {
	c := roomIn("a", "90Gi")
	most := storage(size)[corev1.ResourceStorage]
	c.MaximumVolumeSize = &most
	return c
}

// got is the volume that a claim was promised.
func got(s *State, claim string) string {
	for _, p := range s.promises[claimKey{"shop", claim}] {
		if p.volume != nil {
			return p.volume.name
		}
	}
	return ""
}

func TestSmallClaimsDoNotTakeLargeVolumes(t *testing.T) {
	s := with(storageClass("fast", static), pv("small"), pv("large", holds("100Gi")), pvc("big", wants("50Gi")), pvc("little"))
	n1, d := s.Site(node("n1"), true), NewDemand(pod("p", using("big", "little")...))
	require.Zero(t, s.Judge(d, n1))
	s.Put(d, n1)
	require.Equal(t, "small", got(s, "little"))
	require.Equal(t, "large", got(s, "big"))
}

func TestPodsOfOnePassDoNotShareAVolume(t *testing.T) {
	s := with(storageClass("fast", static), pv("v"), pvc("one"), pvc("two"))
	n1, n2 := s.Site(node("n1"), true), s.Site(node("n2"), true)
	first, second := NewDemand(pod("p", using("one")...)), NewDemand(pod("q", using("two")...))
	s.Put(first, n1)
	require.Equal(t, refuse(NothingToBind, "two"), s.Judge(second, n1))
	s.Take(first, n1)
	require.Zero(t, s.Judge(second, n2))
}

func TestPodsOfOneClaimFollowTheFirst(t *testing.T) {
	s := with(storageClass("fast"), pvc("data"))
	n1, n2 := s.Site(node("n1"), true), s.Site(node("n2"), true)
	first, second := NewDemand(pod("p", using("data")...)), NewDemand(pod("q", using("data")...))
	s.Put(first, n1)
	require.Zero(t, s.Judge(second, n1))
	require.Equal(t, refuse(NothingToBind, "data"), s.Judge(second, n2), "the volume will be made for n1")
	s.Put(second, n1)
	s.Take(first, n1)
	require.Equal(t, refuse(NothingToBind, "data"), s.Judge(first, n2), "the second pod still counts on it")
	s.Take(second, n1)
	require.Zero(t, s.Judge(first, n2))
}

func TestPodsOfOneClaimShareTheVolumePromised(t *testing.T) {
	s := with(storageClass("fast", static), pv("v", near(corev1.LabelTopologyZone, "a")), pvc("data"))
	n1, n2 := s.Site(node("n1"), true), s.Site(node("n2"), true)
	elsewhere := node("n3")
	elsewhere.Labels[corev1.LabelTopologyZone] = "b"
	s.Put(NewDemand(pod("p", using("data")...)), n1)
	second := NewDemand(pod("q", using("data")...))
	require.Zero(t, s.Judge(second, n2))
	require.Equal(t, refuse(NothingToBind, "data"), s.Judge(second, s.Site(elsewhere, true)))
}

func TestAMachineThatDoesNotExist(t *testing.T) {
	zonal, local := pv("zonal", near(corev1.LabelTopologyZone, "a")), pv("local", near(corev1.LabelHostname, "n1"))
	s := with(zonal, local, pvc("one", boundTo("zonal")), pvc("two", boundTo("local")), limits("new", 0))
	machine := s.Site(node("new"), false)
	require.Zero(t, s.Judge(NewDemand(pod("p", using("one")...)), machine), "its template carries the zone; no limit is known")
	require.Equal(t, refuse(NodeAffinity, "local"), s.Judge(NewDemand(pod("p", using("two")...)), machine))
	require.Equal(t, refuse(TooManyVolumes, driver), s.Judge(NewDemand(pod("p", using("one")...)), s.Site(node("new"), true)))
}
