package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/volume"
)

// storageKinds is one object of each kind that says something about volumes.
func storageKinds() []metav1.Object {
	named := metav1.ObjectMeta{Namespace: "default", Name: "x"}
	volumeName := "v"
	return []metav1.Object{
		&corev1.PersistentVolumeClaim{ObjectMeta: named},
		&corev1.PersistentVolume{ObjectMeta: named},
		&storagev1.StorageClass{ObjectMeta: named},
		&storagev1.CSIDriver{ObjectMeta: named},
		&storagev1.CSIStorageCapacity{ObjectMeta: named},
		&storagev1.CSINode{ObjectMeta: named},
		&storagev1.VolumeAttachment{ObjectMeta: named, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "d", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volumeName},
		}},
	}
}

func poked(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestEveryChangeOfStorageWakesThePlanner(t *testing.T) {
	for _, o := range storageKinds() {
		l := makeLive()
		c := l.Changed()
		l.SetStorage(o)
		require.True(t, poked(c), "%T appeared", o)
		l.SetStorage(o)
		require.False(t, poked(c), "%T was told twice", o)
		l.ForgetStorage(o)
		require.True(t, poked(c), "%T went", o)
		l.ForgetStorage(o)
		require.False(t, poked(c), "%T went twice", o)
	}
	l := makeLive()
	c := l.Changed()
	l.SetStorage(&corev1.Secret{})
	require.False(t, poked(c), "a Secret says nothing about volumes")
}

func TestViewsKeepTheStorageTheyWereTakenWith(t *testing.T) {
	l := makeLive()
	p := object.Pod("p")
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "x"},
	}}}
	node := object.Node("n1")
	ask := func(v *View) Reason {
		s := volume.NewState(v.Storage)
		return VolumeVerdict(s.Judge(PodOf(p).Volumes, s.Site(node, true))).Reason
	}
	before := l.View()
	l.SetStorage(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}})
	after := l.View()
	l.ForgetStorage(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}})
	require.Equal(t, Reason{Code: CodeClaimMissing, Detail: "x"}, ask(before))
	require.Equal(t, Reason{Code: CodeClaimUnbound, Detail: "x"}, ask(after))
	require.Equal(t, Reason{Code: CodeClaimMissing, Detail: "x"}, ask(l.View()))
	require.Equal(t, Reason{Code: CodeClaimMissing, Detail: "x"}, ask(&View{}), "a View made by hand has no storage")
}

func TestEveryCauseHasACodeAndAText(t *testing.T) {
	seen := map[string]bool{}
	for cause := volume.None + 1; cause <= volume.Zone; cause++ {
		reason := VolumeVerdict(volume.Refusal{Cause: cause, Detail: "x"}).Reason
		require.NotEmpty(t, reason.Code, "cause %d", cause)
		text := reason.String()
		require.NotContains(t, text, string(reason.Code))
		require.False(t, seen[text], "two causes say %q", text)
		seen[text] = true
	}
	require.Len(t, volumeCodes, len(seen))
	require.Equal(t, Fitting, VolumeVerdict(volume.Refusal{}))
}

func TestNamespacesAreKeptByTheirLabels(t *testing.T) {
	l := makeLive()
	c := l.Changed()
	namespace := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	}
	require.Empty(t, l.View().Namespaces)
	l.SetNamespace(namespace(map[string]string{"team": "a"}))
	require.True(t, poked(c))
	first := l.View()
	l.SetNamespace(namespace(map[string]string{"team": "a"}))
	require.False(t, poked(c), "nothing changed")
	l.SetNamespace(namespace(map[string]string{"team": "b"}))
	require.True(t, poked(c))
	second := l.View()
	l.ForgetNamespace("shop")
	require.True(t, poked(c))
	l.ForgetNamespace("shop")
	require.False(t, poked(c))
	require.Equal(t, Namespaces{"shop": {"team": "a"}}, first.Namespaces)
	require.Equal(t, Namespaces{"shop": {"team": "b"}}, second.Namespaces)
	require.Empty(t, l.View().Namespaces)
}

func TestVolumesOfPodsThatLiveAndDieWithTheirNodeAreNotWaitedFor(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n1", "cpu", "4"))
	for _, name := range []string{"logs", "data"} {
		s.SetStorage(&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name},
		})
		volumeName := "pv-" + name
		s.SetStorage(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "d", NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volumeName},
		}})
	}
	using := func(p *corev1.Pod, claim string) *corev1.Pod {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
		return object.Bound(p, "n1")
	}
	s.pods(using(object.Owned(object.Pod("agent"), "DaemonSet", "agent"), "logs"), using(object.Owned(object.Pod("db"), "StatefulSet", "db"), "data"))
	require.Equal(t, []string{"pv-data"}, s.Attached("n1"), "the agent keeps its volume, the database leaves")
	require.Empty(t, s.Attached("n2"))
}
