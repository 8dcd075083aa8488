package capacity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity/volume"
)

// SetStorage takes in a PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver, CSIStorageCapacity, CSINode or
// VolumeAttachment. Filter answers do not depend on them: there the scheduler's own plugins judge volumes.
func (l *Live) SetStorage(o metav1.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.storage.Set(o) {
		l.changed()
	}
}

// ForgetStorage drops such an object that was deleted.
func (l *Live) ForgetStorage(o metav1.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.storage.Forget(o) {
		l.changed()
	}
}

// Attached names the volumes that are attached to a node, or about to be, and will be detached once its pods have left: those of
// pods that live and die with the node are not.
func (l *Live) Attached(node string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var stay []*volume.Demand
	if e := l.nodes[node]; e != nil {
		for _, p := range e.pods {
			if p.Resident() && p.Volumes != nil {
				stay = append(stay, p.Volumes)
			}
		}
	}
	return l.storage.AttachedTo(node, stay)
}

// volumeCodes spells what the volume package found.
var volumeCodes = map[volume.Cause]Code{
	volume.ClaimMissing:     CodeClaimMissing,
	volume.ClaimUnmade:      CodeClaimUnmade,
	volume.ClaimLost:        CodeClaimLost,
	volume.ClaimDeleting:    CodeClaimDeleting,
	volume.ClaimForeign:     CodeClaimForeign,
	volume.ClaimUnbound:     CodeClaimUnbound,
	volume.VolumeMissing:    CodeVolumeMissing,
	volume.Unreadable:       CodeVolumeUnreadable,
	volume.DiskConflict:     CodeDiskConflict,
	volume.InUse:            CodeVolumeInUse,
	volume.TooManyVolumes:   CodeTooManyVolumes,
	volume.NodeAffinity:     CodeVolumeAffinity,
	volume.NothingToBind:    CodeNoVolume,
	volume.NotEnoughStorage: CodeNoStorage,
	volume.Zone:             CodeVolumeZone,
}

// VolumeVerdict is what a refusal means for the pod.
func VolumeVerdict(r volume.Refusal) Verdict {
	if r.Cause == volume.None {
		return Fitting
	}
	return Verdict{Reason: Reason{Code: volumeCodes[r.Cause], Detail: r.Detail}, Resolvable: r.Resolvable()}
}
