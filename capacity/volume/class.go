package volume

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// class is what is kept of a StorageClass. It is never changed after it was made.
type class struct {
	provisioner string
	// waits: a claim is bound when its first pod is. unset: the binding mode is missing, which no API server lets through.
	waits, unset bool
	// anywhere: no topologies were given; else one of these must match a node.
	anywhere   bool
	topologies []labels.Selector
}

func newClass(c *storagev1.StorageClass) *class {
	k := &class{provisioner: c.Provisioner, anywhere: len(c.AllowedTopologies) == 0}
	if c.VolumeBindingMode == nil {
		k.unset = true
	} else {
		k.waits = *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	}
	for _, t := range c.AllowedTopologies {
		if s, ok := topologyOf(t.MatchLabelExpressions); ok {
			k.topologies = append(k.topologies, s)
		}
	}
	return k
}

// topologyOf compiles one allowed place: every label must have one of its values. An empty one allows nothing, and so
// does one that cannot be read.
func topologyOf(wanted []corev1.TopologySelectorLabelRequirement) (s labels.Selector, ok bool) {
	s = labels.NewSelector()
	for i := range wanted {
		r, err := labels.NewRequirement(wanted[i].Key, selection.In, wanted[i].Values)
		if err != nil {
			return nil, false
		}
		s = s.Add(*r)
	}
	return s, len(wanted) > 0
}

// provisions says whether the class makes volumes at all.
func (k *class) provisions() bool { return k.provisioner != "" && k.provisioner != noProvisioner }

// allows says whether a volume may be made where a node with these labels reaches it.
func (k *class) allows(on map[string]string) bool {
	return k.anywhere || slices.ContainsFunc(k.topologies, func(t labels.Selector) bool { return t.Matches(labels.Set(on)) })
}

// stock is what is kept of a CSIStorageCapacity: room for volumes of one class, reachable from some nodes. It is never
// changed after it was made.
type stock struct {
	class string
	known bool            // most is
	most  int64           // bytes of one volume
	reach labels.Selector // nil: no node reaches it
}

func newStock(c *storagev1.CSIStorageCapacity) *stock {
	s := &stock{class: c.StorageClassName}
	if most := cmp.Or(c.MaximumVolumeSize, c.Capacity); most != nil {
		s.known, s.most = true, sizeOf(*most).bytes()
	}
	if c.NodeTopology == nil {
		return s
	}
	if reach, err := metav1.LabelSelectorAsSelector(c.NodeTopology); err == nil {
		s.reach = reach
	}
	return s
}

// serves says whether a volume of this many bytes could be made for a node with these labels.
func (s *stock) serves(bytes int64, on map[string]string) bool {
	return s.known && s.most >= bytes && s.reach != nil && s.reach.Matches(labels.Set(on))
}
