package replay

import "github.com/muster-sh/muster/capacity"

// rejectors are the plugins that refused a pod in its last attempt: kube-scheduler's QueuedPodInfo.UnschedulablePlugins.
// They alone say which events bring it back. None means that the attempt ended in an error.
type rejectors uint8

const (
	// byExtender is the scheduler's "Extender" (pkg/scheduler/framework/types.go): it is interested in every event.
	byExtender rejectors = 1 << iota
	byPorts              // NodePorts
	bySpread             // PodTopologySpread
	byAffinity           // InterPodAffinity
	byVolumes            // VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone
	byPins               // NodeAffinity, for what its PreFilter leaves out
	byDevices            // DynamicResources, which a replay does not judge
)

func (r rejectors) has(one rejectors) bool { return r&one != 0 }

// rejectorOf is the plugin that refuses for such a reason.
func rejectorOf(c capacity.Code) rejectors {
	switch c {
	case capacity.CodeHostPorts:
		return byPorts
	case capacity.CodeTopologyKey, capacity.CodeTopologySpread, capacity.CodeSelector:
		return bySpread
	case capacity.CodePodAffinity, capacity.CodePodAntiAffinity, capacity.CodeAvoided:
		return byAffinity
	}
	return byVolumes
}
