package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// mounts gives a pod some volumes.
func (g *gen) mounts(p *corev1.Pod) {
	for i := range 1 + g.IntN(3) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: g.mount()})
	}
}

func (g *gen) mount() corev1.VolumeSource {
	switch g.IntN(20) {
	case 0:
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	case 1:
		return corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: pick(g, "d0", "d1"), ReadOnly: g.chance(50)}}
	case 2:
		return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, "vol-0", "vol-1"), ReadOnly: g.chance(50)}}
	case 3:
		return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{IQN: pick(g, "iqn.a", "iqn.b"), ReadOnly: g.chance(50)}}
	case 4:
		return corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{
			CephMonitors: []string{pick(g, "m0", "m1"), pick(g, "m1", "m2")}, RBDPool: pick(g, "rbd", "other"), RBDImage: pick(g, "i0", "i1"), ReadOnly: g.chance(50),
		}}
	case 5:
		return g.oddMount()
	case 6, 7:
		return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	}
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim%d", g.IntN(5))}}
}

func (g *gen) oddMount() corev1.VolumeSource {
	switch g.IntN(6) {
	case 0:
		return corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: "disk", Kind: new(pick(g, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk))}}
	case 1:
		return corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{VolumeID: "volume"}}
	case 2:
		return corev1.VolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "volume"}}
	case 3:
		return corev1.VolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "path"}}
	case 4:
		return corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{ShareName: "share"}}
	}
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}
}

// ephemeralClaims makes the claims behind a pod's ephemeral volumes, as their controller does; now and then it is late, or
// somebody else's claim has the name.
func (g *gen) ephemeralClaims(c *cluster, p *corev1.Pod) {
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Ephemeral == nil {
			continue
		}
		name := p.Name + "-" + p.Spec.Volumes[i].Name
		switch n := g.IntN(100); {
		case n < 90:
			g.claim(c, p.Namespace, name, p)
		case n < 95:
			g.claim(c, p.Namespace, name, nil)
		}
	}
}
