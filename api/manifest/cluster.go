package manifest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// kind says how the objects of one group and kind are read into a Cluster.
type kind struct {
	version string
	add     func(*Cluster, object) Errors
}

// clusterKinds are the kinds that play a part in a plan, by kind and group.
var clusterKinds = map[string]kind{
	"Node":                        {"v1", addNode},
	"Pod":                         {"v1", addPod},
	"Namespace":                   {"v1", addNamespace},
	"DaemonSet.apps":              {"apps/v1", addDaemonSet},
	"DeviceClass.resource.k8s.io": {"resource.k8s.io/v1", addDeviceClass},

	"PersistentVolumeClaim":             {"v1", addVolumeClaim},
	"PersistentVolume":                  {"v1", addVolume},
	"StorageClass.storage.k8s.io":       {storageVersion, addStorageClass},
	"CSINode.storage.k8s.io":            {storageVersion, addCSINode},
	"CSIDriver.storage.k8s.io":          {storageVersion, addCSIDriver},
	"CSIStorageCapacity.storage.k8s.io": {storageVersion, addStorageCapacity},
	"VolumeAttachment.storage.k8s.io":   {storageVersion, addVolumeAttachment},
	"PodDisruptionBudget.policy":        {"policy/v1", addBudget},
	"NodeClaim.muster.sh":               {v1alpha1.GroupVersion.String(), func(c *Cluster, o object) Errors { return collect(o, &c.Claims) }},
}

const storageVersion = "storage.k8s.io/v1"

// namespacedKinds get the namespace "default" where none is given, as kubectl does.
var namespacedKinds = []string{"Pod", "DaemonSet", "PersistentVolumeClaim", "CSIStorageCapacity", "PodDisruptionBudget"}

func readCluster(sources []source) (*Cluster, error) {
	out := Cluster{Ignored: map[string]int{}}
	var errs Errors
	names := places{}
	for _, s := range sources {
		objects, problems := s.objects()
		errs = append(errs, problems...)
		for _, o := range objects {
			errs = append(errs, out.add(o, names)...)
		}
	}
	if err := errs.orNil(sources); err != nil {
		return nil, err
	}
	out.defaultClass()
	return &out, nil
}

func (c *Cluster) add(o object, names places) Errors {
	k, known := clusterKinds[o.groupKind()]
	if !known {
		c.Ignored[o.groupKind()]++
		return nil
	}
	if err, wrong := wrongVersion(o, k.version); wrong {
		return Errors{err}
	}
	if slices.Contains(namespacedKinds, o.kind) && o.namespace == "" {
		o.namespace = metav1.NamespaceDefault
	}
	return append(k.add(c, o), names.add(o)...)
}

func addNode(c *Cluster, o object) Errors {
	node, errs := decode[corev1.Node](o)
	if len(errs) > 0 {
		return errs
	}
	defaultMeta(o, node)
	errs = append(checkMeta(o, node, false, validation.NameIsDNSSubdomain), checkNode(o, node)...)
	c.Nodes = append(c.Nodes, node)
	return errs
}

func addPod(c *Cluster, o object) Errors {
	pod, errs := decode[corev1.Pod](o)
	if len(errs) > 0 {
		return errs
	}
	defaultPod(pod) // which asks whether the pod has a UID
	defaultMeta(o, pod)
	errs = append(checkMeta(o, pod, true, validation.NameIsDNSSubdomain), checkPod(o, &pod.Spec, "spec")...)
	c.Pods = append(c.Pods, pod)
	return errs
}

func addDaemonSet(c *Cluster, o object) Errors {
	set, errs := decode[daemonSet](o)
	if len(errs) > 0 {
		return errs
	}
	defaultMeta(o, set)
	defaultPodSpec(&set.Spec.Template.Spec)
	errs = append(checkMeta(o, set, true, validation.NameIsDNSSubdomain),
		checkPod(o, &set.Spec.Template.Spec, "spec.template.spec")...)
	c.DaemonSets = append(c.DaemonSets, set)
	return errs
}

func addNamespace(c *Cluster, o object) Errors {
	namespace, errs := decode[corev1.Namespace](o)
	if len(errs) > 0 {
		return errs
	}
	c.Namespaces = append(c.Namespaces, namespace)
	return checkMeta(o, namespace, false, validation.NameIsDNSLabel)
}

func addDeviceClass(c *Cluster, o object) Errors {
	class, errs := decode[deviceClass](o)
	if len(errs) > 0 {
		return errs
	}
	c.DeviceClasses = append(c.DeviceClasses, class)
	return checkMeta(o, class, false, validation.NameIsDNSSubdomain)
}

// defaultMeta gives an object that was written by hand the namespace and the identity that the API server would have
// given it; the UID is made of the names, so that the same files give the same plan.
func defaultMeta(o object, meta metav1.Object) {
	meta.SetNamespace(o.namespace)
	if meta.GetUID() != "" {
		return
	}
	uid := o.name
	if o.namespace != "" {
		uid = o.namespace + "/" + o.name
	}
	meta.SetUID(types.UID(uid))
}
