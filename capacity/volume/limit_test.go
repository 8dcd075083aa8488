package volume

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// several are volumes v1, v2, … with the claims c1, c2, … bound to them.
func several(n int) objects {
	var out objects
	for i := range n {
		name := string(rune('1' + i))
		out = append(out, pv("v"+name), pvc("c"+name, boundTo("v"+name)))
	}
	return out
}

// TestAttachLimits asks about a pod and node n1, whose driver attaches two volumes at most.
func TestAttachLimits(t *testing.T) {
	inTree := pv("v9", func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
			AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://a/vol-9"},
		}
	})
	ebsNode := limits("n1", 2)
	ebsNode.Spec.Drivers = append(ebsNode.Spec.Drivers, storagev1.CSINodeDriver{
		Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(1))},
	})
	for name, c := range map[string]struct {
		there   objects
		running []*corev1.Pod
		pod     *corev1.Pod
		want    Cause
		detail  string
	}{
		"as many as it attaches": {there: several(2), pod: pod("p", using("c1", "c2")...)},
		"one too many":           {there: several(3), pod: pod("p", using("c1", "c2", "c3")...), want: TooManyVolumes, detail: driver},
		"those of running pods count": {
			there: several(3), running: []*corev1.Pod{pod("a", using("c1")...), pod("b", using("c2")...)},
			pod: pod("p", using("c3")...), want: TooManyVolumes, detail: driver},
		"one that two pods have counts once": {
			there: several(3), running: []*corev1.Pod{pod("a", using("c1")...), pod("b", using("c1")...)}, pod: pod("p", using("c1", "c2")...)},
		"a node that has too many takes a pod that adds none": {
			there: several(3), running: []*corev1.Pod{pod("a", using("c1", "c2", "c3")...)}, pod: pod("p", using("c2")...)},
		"two claims on one volume count once": {
			there: objects{pv("v1"), pv("v2"), pvc("c1", boundTo("v1")), pvc("c2", boundTo("v2")), pvc("c3", boundTo("v2"))},
			pod:   pod("p", using("c1", "c2", "c3")...)},
		"a volume that is still attached counts": {
			there: append(several(3), attachedTo("n1", "v3"), attachedTo("n2", "v2")), pod: pod("p", using("c1", "c2")...), want: TooManyVolumes, detail: driver},
		"one that is attached for a running pod counts once": {
			there: append(several(2), attachedTo("n1", "v1")), running: []*corev1.Pod{pod("a", using("c1")...)}, pod: pod("p", using("c2")...)},
		"an attachment of a volume that is gone does not count": {
			there: append(several(2), attachedTo("n1", "gone")), pod: pod("p", using("c1", "c2")...)},
		"volumes to be made count as their class's driver's": {
			there: append(several(1), storageClass("fast"), pvc("x"), pvc("y")), running: []*corev1.Pod{pod("a", using("c1", "x")...)},
			pod: pod("p", using("y")...), want: TooManyVolumes, detail: driver},
		"a claim of a running pod that is gone does not count": {
			there: several(2), running: []*corev1.Pod{pod("a", using("gone")...)}, pod: pod("p", using("c1", "c2")...)},
		"a driver without a limit": {
			there: objects{storageClass("fast", func(c *storagev1.StorageClass) { c.Provisioner = "free.example.com" }), pvc("x"), pvc("y"), pvc("z")},
			pod:   pod("p", using("x", "y", "z")...)},
		"an in-tree volume counts as its CSI driver's": {
			there: objects{ebsNode, inTree, pvc("c9", boundTo("v9"))}, running: []*corev1.Pod{pod("a", ebs("vol-1", false))},
			pod: pod("p", using("c9")...), want: TooManyVolumes, detail: "ebs.csi.aws.com"},
		"the same in-tree volume by claim and by name counts once": {
			there: objects{ebsNode, inTree, pvc("c9", boundTo("v9"))}, running: []*corev1.Pod{pod("a", ebs("vol-9", false))},
			pod: pod("p", using("c9")...)},
		"an inline disk that no CSI driver can take over": {
			pod: pod("p", corev1.Volume{Name: "d", VolumeSource: corev1.VolumeSource{
				AzureDisk: &corev1.AzureDiskVolumeSource{Kind: new(corev1.AzureSharedBlobDisk)}}}), want: Unreadable, detail: "volume d"},
		"a running pod with somebody else's ephemeral claim": {
			there: append(several(1), storageClass("fast"), pvc("a-tmp")), running: []*corev1.Pod{pod("a", ephemeral("tmp"))},
			pod: pod("p", using("c1")...), want: Unreadable, detail: "a volume of a pod on the node"},
	} {
		t.Run(name, func(t *testing.T) {
			s := with(append([]metav1.Object{limits("n1", 2)}, c.there...)...)
			n1 := s.Site(node("n1"), true)
			for _, p := range c.running {
				s.Occupy(NewDemand(p), n1)
			}
			d := NewDemand(c.pod)
			got := s.Judge(d, n1)
			require.Equal(t, Refusal{Cause: c.want, Detail: c.detail}, got)
			require.Equal(t, c.want == TooManyVolumes, got.Resolvable())
			require.NotEqual(t, TooManyVolumes, s.Judge(d, s.Site(node("n1"), false)).Cause, "no limit is known before a machine is there")
		})
	}
}

func TestPodsOfOnePassShareALimit(t *testing.T) {
	s := with(append(several(3), limits("n1", 2))...)
	n1 := s.Site(node("n1"), true)
	first := NewDemand(pod("a", using("c1", "c2")...))
	s.Put(first, n1)
	require.Equal(t, refuse(TooManyVolumes, driver), s.Judge(NewDemand(pod("b", using("c3")...)), n1))
	s.Take(first, n1)
	require.Zero(t, s.Judge(NewDemand(pod("b", using("c3")...)), n1))
}

// An in-tree volume is where its CSI driver says only on nodes whose kubelet has handed it over.
func TestInTreeVolumesAreReachedAsTheirDriverSays(t *testing.T) {
	disk := pv("v", near(corev1.LabelTopologyZone, "a"), func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
	})
	migrated := limits("n2", 5)
	migrated.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"}
	s := with(disk, pvc("data", boundTo("v")), limits("n1", 5), migrated)
	d := NewDemand(pod("p", using("data")...))
	require.Zero(t, s.Judge(d, s.Site(node("n1"), true)))
	require.Equal(t, refuse(NodeAffinity, "v"), s.Judge(d, s.Site(node("n2"), true)), "it lacks the driver's own zone label")
	labelled := node("n2")
	labelled.Labels["topology.ebs.csi.aws.com/zone"] = "a"
	require.Zero(t, s.Judge(d, s.Site(labelled, true)))
}
