package volume

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/csi-translation-lib/plugins"
	"k8s.io/klog/v2"
)

// noLogger: the translators log nothing that an operator of Muster could act on.
var noLogger = klog.Logger{}

// migrated are the in-tree volume plugins whose volumes kube-scheduler counts as those of a CSI driver. The list is the
// scheduler's own (isCSIMigrationOn), in one fixed order.
var migrated = []plugins.InTreePlugin{
	plugins.NewAWSElasticBlockStoreCSITranslator(),
	plugins.NewAzureDiskCSITranslator(),
	plugins.NewOpenStackCinderCSITranslator(),
	plugins.NewGCEPersistentDiskCSITranslator(),
	plugins.NewPortworxCSITranslator(),
}

// unmigrated in-tree provisioners have a CSI driver too, and the scheduler does not count their volumes.
var unmigrated = []string{plugins.AzureFileInTreePluginName, plugins.VSphereInTreePluginName}

// attachment is a volume as a node attaches it.
type attachment struct{ driver, handle string }

// translateInline reads an in-tree volume named in a pod as the CSI driver that took it over does.
func translateInline(v *corev1.Volume, namespace string) (a attachment, found bool, err error) {
	i := slices.IndexFunc(migrated, func(p plugins.InTreePlugin) bool { return p.CanSupportInline(v) })
	if i < 0 {
		return attachment{}, false, nil
	}
	pv, err := migrated[i].TranslateInTreeInlineVolumeToCSI(noLogger, v, namespace)
	if err != nil {
		return attachment{}, false, fmt.Errorf("read volume %s: %w", v.Name, err)
	}
	return attachment{driver: migrated[i].GetCSIPluginName(), handle: pv.Spec.CSI.VolumeHandle}, true, nil
}

// translation is an in-tree PersistentVolume as its CSI driver sees it.
type translation struct {
	plugin   string // the in-tree plugin's name
	attached attachment
	affinity *affinity
	err      error
}

func translatePV(pv *corev1.PersistentVolume) *translation {
	i := slices.IndexFunc(migrated, func(p plugins.InTreePlugin) bool { return p.CanSupport(pv) })
	if i < 0 {
		return nil
	}
	t := &translation{plugin: migrated[i].GetInTreePluginName()}
	out, err := migrated[i].TranslateInTreePVToCSI(noLogger, pv.DeepCopy())
	if err != nil {
		t.err = fmt.Errorf("read PersistentVolume %s: %w", pv.Name, err)
		return t
	}
	t.attached = attachment{driver: out.Spec.CSI.Driver, handle: out.Spec.CSI.VolumeHandle}
	t.affinity = newAffinity(out.Spec.NodeAffinity)
	return t
}

// driverOf is the CSI driver that attaches what a StorageClass's provisioner makes; none where the scheduler counts
// nothing for it.
func driverOf(provisioner string) string {
	if slices.Contains(unmigrated, provisioner) {
		return ""
	}
	for _, p := range migrated {
		if p.GetInTreePluginName() == provisioner {
			return p.GetCSIPluginName()
		}
	}
	return provisioner
}

// migratedOn reads the annotation in which a CSINode lists the in-tree plugins that its kubelet has handed over.
func migratedOn(annotations map[string]string) []string {
	list := annotations[corev1.MigratedPluginsAnnotationKey]
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
