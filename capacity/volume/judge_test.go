package volume

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type objects = []metav1.Object

var deleted = metav1.Now()

// TestJudge asks about a pod and node n1, which exists, in zone a.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		there   objects
		running []*corev1.Pod // on n1
		pod     *corev1.Pod
		want    Cause
		detail  string
	}{
		"a pod without volumes goes anywhere": {pod: pod("p")},
		"volumes that are not storage do not count": {pod: pod("p", corev1.Volume{Name: "tmp",
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})},

		// Claims.
		"a claim that does not exist": {pod: pod("p", using("data")...), want: ClaimMissing, detail: "data"},
		"an ephemeral volume whose claim was not made yet": {
			pod: pod("p", ephemeral("tmp")), want: ClaimUnmade, detail: "p-tmp"},
		"an ephemeral volume whose claim is somebody else's": {
			there: objects{storageClass("fast"), pvc("p-tmp")}, pod: pod("p", ephemeral("tmp")), want: ClaimForeign, detail: "p-tmp"},
		"an ephemeral volume whose claim is the pod's": {
			there: objects{storageClass("fast"), pvc("p-tmp", ownedBy("p"))}, pod: pod("p", ephemeral("tmp"))},
		"a claim that lost its volume": {
			there: objects{pvc("data", boundTo("gone"), func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })},
			pod:   pod("p", using("data")...), want: ClaimLost, detail: "data"},
		"a claim that is being deleted": {
			there: objects{pv("v"), pvc("data", boundTo("v"), func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &deleted })},
			pod:   pod("p", using("data")...), want: ClaimDeleting, detail: "data"},
		"a claim bound to a volume that does not exist": {
			there: objects{pvc("data", boundTo("gone"))}, pod: pod("p", using("data")...), want: VolumeMissing, detail: "gone"},
		"an ephemeral claim bound to a volume that does not exist": {
			there: objects{pvc("p-tmp", boundTo("gone"), ownedBy("p"))}, pod: pod("p", ephemeral("tmp")), want: VolumeMissing},

		// Binding at once.
		"an unbound claim whose class binds at once": {
			there: objects{storageClass("fast", immediate), pvc("data")}, pod: pod("p", using("data")...), want: ClaimUnbound, detail: "data"},
		"an unbound claim without a class": {
			there: objects{pvc("data", ofClass(""))}, pod: pod("p", using("data")...), want: ClaimUnbound, detail: "data"},
		"an unbound claim of a class that does not exist": {
			there: objects{pvc("data")}, pod: pod("p", using("data")...), want: ClaimUnbound, detail: "data"},
		"a claim that names a volume and was not bound to it yet": {
			there: objects{storageClass("fast"), pv("v"), pvc("data", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" })},
			pod:   pod("p", using("data")...), want: ClaimUnbound, detail: "data"},
		"the old annotation decides the class": {
			there: objects{storageClass("fast"), pvc("data", func(c *corev1.PersistentVolumeClaim) {
				c.Annotations[corev1.BetaStorageClassAnnotation] = ""
			})},
			pod: pod("p", using("data")...), want: ClaimUnbound, detail: "data"},
		"a class without a binding mode": {
			there: objects{storageClass("fast", func(c *storagev1.StorageClass) { c.VolumeBindingMode = nil }), pvc("data")},
			pod:   pod("p", using("data")...), want: Unreadable, detail: `StorageClass "fast" has no volumeBindingMode`},

		// Where a bound volume is.
		"a bound volume that is everywhere": {
			there: objects{pv("v"), pvc("data", boundTo("v"))}, pod: pod("p", using("data")...)},
		"a bound volume on this host": {
			there: objects{pv("v", near(corev1.LabelHostname, "n1")), pvc("data", boundTo("v"))}, pod: pod("p", using("data")...)},
		"a bound volume on another host": {
			there: objects{pv("v", near(corev1.LabelHostname, "n2")), pvc("data", boundTo("v"))},
			pod:   pod("p", using("data")...), want: NodeAffinity, detail: "v"},
		"a bound volume whose terms name nothing": {
			there: objects{pv("v", func(v *corev1.PersistentVolume) {
				v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
			}), pvc("data", boundTo("v"))},
			pod: pod("p", using("data")...), want: NodeAffinity, detail: "v"},
		"a bound volume in another zone by its label": {
			there: objects{pv("v", labelled(corev1.LabelTopologyZone, "b")), pvc("data", boundTo("v"))},
			pod:   pod("p", using("data")...), want: Zone},
		"a bound volume in two zones by its label": {
			there: objects{pv("v", labelled(corev1.LabelTopologyZone, "b__a")), pvc("data", boundTo("v"))}, pod: pod("p", using("data")...)},
		"the old zone label of a volume is compared with the new one of a node": {
			there: objects{pv("v", labelled(corev1.LabelFailureDomainBetaZone, "b")), pvc("data", boundTo("v"))},
			pod:   pod("p", using("data")...), want: Zone},
		"a region that the node does not name": {
			there: objects{pv("v", labelled(corev1.LabelTopologyRegion, "r")), pvc("data", boundTo("v"))},
			pod:   pod("p", using("data")...), want: Zone},
		"a zone label that cannot be read is ignored": {
			there: objects{pv("v", labelled(corev1.LabelTopologyZone, "b__")), pvc("data", boundTo("v"))}, pod: pod("p", using("data")...)},
		"the zone of an ephemeral volume is not compared": {
			there: objects{pv("v", labelled(corev1.LabelTopologyZone, "b")), pvc("p-tmp", boundTo("v"), ownedBy("p"))},
			pod:   pod("p", ephemeral("tmp"))},

		// One pod at a time.
		"a volume for one pod that nobody has": {
			there: objects{pv("v"), pvc("data", boundTo("v"), oncePod)}, pod: pod("p", using("data")...)},
		"a volume for one pod that another pod has": {
			there: objects{pv("v"), pvc("data", boundTo("v"), oncePod)}, running: []*corev1.Pod{pod("other", using("data")...)},
			pod: pod("p", using("data")...), want: InUse, detail: "data"},
		"a volume for several pods": {
			there: objects{pv("v"), pvc("data", boundTo("v"))}, running: []*corev1.Pod{pod("other", using("data")...)},
			pod: pod("p", using("data")...)},

		// Disks.
		"the same PD, one of them writing": {
			running: []*corev1.Pod{pod("other", pd("d", true))}, pod: pod("p", pd("d", false)), want: DiskConflict},
		"the same PD, both reading": {running: []*corev1.Pod{pod("other", pd("d", true))}, pod: pod("p", pd("d", true))},
		"another PD":                {running: []*corev1.Pod{pod("other", pd("e", false))}, pod: pod("p", pd("d", false))},
		"the same EBS volume, both reading": {
			running: []*corev1.Pod{pod("other", ebs("vol-1", true))}, pod: pod("p", ebs("vol-1", true)), want: DiskConflict},
		"the same iSCSI target": {
			running: []*corev1.Pod{pod("other", iscsi("iqn.x", false))}, pod: pod("p", iscsi("iqn.x", false)), want: DiskConflict},
		"the same RBD image behind one monitor of two": {
			running: []*corev1.Pod{pod("other", rbd("i", false, "m1", "m2"))}, pod: pod("p", rbd("i", false, "m2", "m3")), want: DiskConflict},
		"an RBD image of that name in another cluster": {
			running: []*corev1.Pod{pod("other", rbd("i", false, "m1"))}, pod: pod("p", rbd("i", false, "m2"))},
		"a disk and a target of one name": {
			running: []*corev1.Pod{pod("other", pd("x", false))}, pod: pod("p", iscsi("x", false))},
	} {
		t.Run(name, func(t *testing.T) {
			s := with(c.there...)
			n1 := s.Site(node("n1"), true)
			for _, p := range c.running {
				s.Occupy(NewDemand(p), n1)
			}
			got := s.Judge(NewDemand(c.pod), n1)
			require.Equal(t, Refusal{Cause: c.want, Detail: c.detail}, got)
			require.Equal(t, c.want == InUse || c.want == DiskConflict, got.Resolvable())
		})
	}
}
