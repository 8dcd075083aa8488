package fidelity

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// pluginOf names the plugin that would give each of Muster's reasons.
var pluginOf = map[capacity.Code]string{
	capacity.CodeUnschedulable:   names.NodeUnschedulable,
	capacity.CodeTaint:           names.TaintToleration,
	capacity.CodeAffinity:        names.NodeAffinity,
	capacity.CodeHostPorts:       names.NodePorts,
	capacity.CodeInsufficient:    names.NodeResourcesFit,
	capacity.CodeTooManyPods:     names.NodeResourcesFit,
	capacity.CodeTopologyKey:     names.PodTopologySpread,
	capacity.CodeTopologySpread:  names.PodTopologySpread,
	capacity.CodePodAffinity:     names.InterPodAffinity,
	capacity.CodePodAntiAffinity: names.InterPodAffinity,
	capacity.CodeAvoided:         names.InterPodAffinity,
	capacity.CodeDiskConflict:    names.VolumeRestrictions,
	capacity.CodeVolumeInUse:     names.VolumeRestrictions,
	capacity.CodeTooManyVolumes:  names.NodeVolumeLimits,
	capacity.CodeVolumeMissing:   names.VolumeBinding,
	capacity.CodeVolumeAffinity:  names.VolumeBinding,
	capacity.CodeNoVolume:        names.VolumeBinding,
	capacity.CodeNoStorage:       names.VolumeBinding,
	capacity.CodeVolumeZone:      names.VolumeZone,
}

// disagreement says how two answers differ; empty where they do not. The plugin is compared where a Filter refused: a
// PreFilter refuses before any of them.
func disagreement(theirs answer, ours capacity.Verdict) string {
	switch {
	case theirs.fits != ours.Fits:
		return "whether the pod fits"
	case theirs.fits || theirs.plugin == "":
		return ""
	case theirs.failed || ours.Reason.Code == capacity.CodeVolumeUnreadable:
		if theirs.failed != (ours.Reason.Code == capacity.CodeVolumeUnreadable) {
			return "whether kube-scheduler fails"
		}
		return ""
	case pluginOf[ours.Reason.Code] != theirs.plugin:
		return "which plugin refuses"
	case ours.Resolvable != theirs.resolvable && ours.Reason.Code != capacity.CodeTooManyPods:
		// Where even an empty node takes no pod, Muster says that nothing helps; the plugin does not look.
		return "whether pods that leave could help"
	}
	return ""
}

// compare judges pods on all nodes of a cluster both ways. c is the cluster as it stands, s the same in Muster's terms;
// it returns the number of triples compared and the first disagreement.
func (s *scheduler) compare(ctx context.Context, c *cluster, sim *simulated, pods []*corev1.Pod) (int, error) {
	if err := s.load(ctx, c); err != nil {
		return 0, err
	}
	return s.ask(ctx, c, sim, pods)
}

// ask is compare for a cluster that the plugins were shown already.
func (s *scheduler) ask(ctx context.Context, c *cluster, sim *simulated, pods []*corev1.Pod) (int, error) {
	count := 0
	for _, p := range pods {
		answers, err := s.filter(ctx, p)
		if err != nil {
			return count, err
		}
		class := sim.Class(sim.pods[p.UID])
		for _, n := range c.nodes {
			count++
			theirs, ours := answers[n.Name], sim.Judge(class, sim.places[n.Name])
			if how := disagreement(theirs, ours); how != "" {
				return count, fmt.Errorf("pod %s, node %s: %s: kube-scheduler says %+v, Muster %+v", p.Name, n.Name, how, theirs, ours)
			}
		}
	}
	return count, nil
}

// simulated is Muster's side: the Simulation, and its places and pods by name.
type simulated struct {
	*simulation.Simulation
	places map[string]*simulation.Place
	pods   map[types.UID]*capacity.Pod
}

func simulate(v *capacity.View) *simulated {
	s := &simulated{simulation.New(v), map[string]*simulation.Place{}, map[types.UID]*capacity.Pod{}}
	for _, p := range s.Places() {
		s.places[p.Node.Name] = p
		for _, pod := range s.Pods(p) {
			s.pods[pod.UID] = pod
		}
	}
	for _, f := range v.Shortfalls {
		s.pods[f.Pod.UID] = f.Pod
	}
	return s
}
