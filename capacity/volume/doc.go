// Package volume judges where a pod may run for the sake of its volumes, as kube-scheduler's own plugins do
// (VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone of v1.36.3, their PreFilter included): claims and
// the volumes they are bound to, claims that wait for their first pod, volumes for one pod only, disks that one machine
// mounts once, and how many volumes a driver attaches to a node.
//
// It refuses to guess. A machine that does not exist has no CSINode, so no attach limit is known for it, and it has only
// the labels of its pool: a volume that is tied to another node's name never fits it.
package volume
