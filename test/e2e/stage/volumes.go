package stage

import (
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Volume is a claim for storage whose provisioner is the story: it takes as long as the story wants.
type Volume struct {
	stage *Stage
	claim *corev1.PersistentVolumeClaim
}

// SlowVolume makes the claim. Nothing is provisioned before a pod that mounts it has been given a node, and the pod is
// not bound before it is provisioned.
func (s *Stage) SlowVolume(name string) *Volume {
	s.T.Helper()
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class, err := s.Plane.Client.StorageV1().StorageClasses().Create(s.Ctx, &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: s.Namespace + "-" + name},
		Provisioner: "e2e.muster.sh/story", VolumeBindingMode: &wait,
	}, metav1.CreateOptions{})
	require.NoError(s.T, err)
	claim, err := s.Plane.Client.CoreV1().PersistentVolumeClaims(s.Namespace).Create(s.Ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class.Name,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: Resources("storage", "1Gi")},
		},
	}, metav1.CreateOptions{})
	require.NoError(s.T, err)
	return &Volume{stage: s, claim: claim}
}

// Mounted makes a pod use the volume.
func (v *Volume) Mounted(p *corev1.Pod) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.claim.Name},
	}})
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
}

// Provision makes the storage, as the provisioner would at last.
func (v *Volume) Provision() {
	v.stage.T.Helper()
	_, err := v.stage.Plane.Client.CoreV1().PersistentVolumes().Create(v.stage.Ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "volume-" + string(v.claim.UID),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "e2e.muster.sh/story"}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: *v.claim.Spec.StorageClassName, AccessModes: v.claim.Spec.AccessModes,
			Capacity: v.claim.Spec.Resources.Requests, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: v.claim.Namespace, Name: v.claim.Name, UID: v.claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/none"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(v.stage.T, err)
}
