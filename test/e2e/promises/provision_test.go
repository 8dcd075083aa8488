package promises

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/e2e/world"
)

// selectedNode is where a claim says for which node its volume is to be made.
const selectedNode = "volume.kubernetes.io/selected-node"

// provision makes the volumes that a scheduler has asked the driver for, in the zone of the node it chose.
func (s *scene) provision() error {
	list, err := s.Plane.Client.CoreV1().PersistentVolumeClaims("").List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		c := &list.Items[i]
		name := c.Annotations[selectedNode]
		if name == "" || c.Spec.VolumeName != "" || c.Annotations["volume.kubernetes.io/storage-provisioner"] != world.Driver {
			continue
		}
		node, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = s.Plane.Client.CoreV1().PersistentVolumes().Create(s.Ctx, made(c, node), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func made(c *corev1.PersistentVolumeClaim, node *corev1.Node) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "made-" + string(c.UID),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": world.Driver}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: *c.Spec.StorageClassName, AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: world.Driver, VolumeHandle: string(c.UID)}},
		},
	}
	if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
			},
		}}}}
	}
	return v
}
