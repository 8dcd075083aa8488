package volume

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations that the volume controllers and the scheduler write, and the provisioner of classes that provision
// nothing (k8s.io/component-helpers/storage/volume has them too, together with a client).
const (
	bindCompleted = "pv.kubernetes.io/bind-completed"
	selectedNode  = "volume.kubernetes.io/selected-node"
	noProvisioner = "kubernetes.io/no-provisioner"
)

type claimKey struct{ namespace, name string }

// claim is what is kept of a PersistentVolumeClaim. It is never changed after it was made.
type claim struct {
	key   claimKey
	uid   types.UID
	owner types.UID // the controller's
	class string
	// volume is the name of the PersistentVolume; bound says that both sides agreed on it.
	volume string
	bound  bool

	lost, deleting bool
	// oneNode is where the scheduler has sent the claim's first pod, so that the volume is made there.
	oneNode  string
	selected bool

	modes      accessModes
	size       size
	sized      bool
	block      bool
	attributes string // volumeAttributesClassName
	selector   labels.Selector
	unreadable bool // the selector is
}

func newClaim(c *corev1.PersistentVolumeClaim) *claim {
	k := &claim{
		key: claimKey{c.Namespace, c.Name}, uid: c.UID, class: classOf(c.Annotations, c.Spec.StorageClassName),
		volume: c.Spec.VolumeName, lost: c.Status.Phase == corev1.ClaimLost, deleting: c.DeletionTimestamp != nil,
		modes: modesOf(c.Spec.AccessModes), block: isBlock(c.Spec.VolumeMode), attributes: deref(c.Spec.VolumeAttributesClassName),
	}
	if owner := metav1.GetControllerOfNoCopy(c); owner != nil {
		k.owner = owner.UID
	}
	_, completed := c.Annotations[bindCompleted]
	k.bound = k.volume != "" && completed
	k.oneNode, k.selected = c.Annotations[selectedNode]
	if request, sized := c.Spec.Resources.Requests[corev1.ResourceStorage]; sized {
		k.size, k.sized = sizeOf(request), true
	}
	if c.Spec.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(c.Spec.Selector)
		k.selector, k.unreadable = selector, err != nil
	}
	return k
}

// classOf reads a class as the scheduler does: the old annotation first, even where it is empty.
func classOf(annotations map[string]string, name *string) string {
	if class, found := annotations[corev1.BetaStorageClassAnnotation]; found {
		return class
	}
	return deref(name)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func isBlock(mode *corev1.PersistentVolumeMode) bool {
	return mode != nil && *mode != corev1.PersistentVolumeFilesystem
}

// accessModes is a set.
type accessModes uint8

const (
	readWriteOnce accessModes = 1 << iota
	readOnlyMany
	readWriteMany
	readWriteOncePod
	otherMode
)

func modesOf(list []corev1.PersistentVolumeAccessMode) accessModes {
	var set accessModes
	for _, m := range list {
		switch m {
		case corev1.ReadWriteOnce:
			set |= readWriteOnce
		case corev1.ReadOnlyMany:
			set |= readOnlyMany
		case corev1.ReadWriteMany:
			set |= readWriteMany
		case corev1.ReadWriteOncePod:
			set |= readWriteOncePod
		default:
			set |= otherMode
		}
	}
	return set
}

// covers says whether a volume with these modes serves a claim that wants others.
func (m accessModes) covers(wanted accessModes) bool { return wanted&^m == 0 }
