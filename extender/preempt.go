package extender

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/capacity"
)

// preemption is an ExtenderPreemptionArgs, its victims by UID whichever form they came in.
type preemption struct {
	pod     *corev1.Pod
	victims map[string]*extenderv1.MetaVictims
}

// preempt leaves out the nodes nobody may die for: the vetoed ones, and those without a victim, since the scheduler
// takes a node returned without one for an error and gives up on all (Evaluator.callExtenders).
func (v vetoer) preempt(_ context.Context, c call, answer []byte) ([]byte, error) {
	p, err := readPreemption(c.body)
	if err != nil {
		return nil, err
	}
	c.seen.sees(p.pod.UID, len(p.victims))
	maps.DeleteFunc(p.victims, func(name string, victims *extenderv1.MetaVictims) bool {
		return victims == nil || len(victims.Pods) == 0 || v.core.Veto(p.pod, name) != capacity.Reason{}
	})
	c.seen.answers("", len(p.victims), nil)
	encoded, err := json.Marshal(extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: p.victims})
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return append(answer, encoded...), nil
}

func readPreemption(body []byte) (preemption, error) {
	members, err := fields(body, "Pod", "NodeNameToVictims", "NodeNameToMetaVictims")
	if err != nil {
		return preemption{}, err
	}
	var p preemption
	if p.pod, err = readPod(members["Pod"]); err != nil {
		return preemption{}, err
	}
	whole, meta := members["NodeNameToVictims"], members["NodeNameToMetaVictims"]
	switch {
	case given(whole) && given(meta):
		return preemption{}, bad("NodeNameToVictims, NodeNameToMetaVictims", "one of them belongs here, not both")
	case given(meta):
		p.victims, err = readMetaVictims(meta)
	case given(whole):
		p.victims, err = readVictims(whole)
	default:
		return preemption{}, bad("NodeNameToMetaVictims", "missing, and so is NodeNameToVictims; one of them belongs here")
	}
	return p, err
}

func readMetaVictims(raw []byte) (map[string]*extenderv1.MetaVictims, error) {
	var victims map[string]*extenderv1.MetaVictims
	if err := json.Unmarshal(raw, &victims); err != nil {
		return nil, bad("NodeNameToMetaVictims", "%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(victims)) {
		if victims[name] == nil {
			continue
		}
		for i, pod := range victims[name].Pods {
			if pod == nil || pod.UID == "" {
				return nil, bad(fmt.Sprintf("NodeNameToMetaVictims[%q].Pods[%d].UID", name, i), "missing")
			}
		}
	}
	return victims, nil
}

// readVictims keeps of every victim its UID: that is all the scheduler wants back.
func readVictims(raw []byte) (map[string]*extenderv1.MetaVictims, error) {
	var whole map[string]*struct {
		Pods             []*struct{ Metadata struct{ UID string } }
		NumPDBViolations int64
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, bad("NodeNameToVictims", "%v", err)
	}
	victims := make(map[string]*extenderv1.MetaVictims, len(whole))
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if whole[name] == nil {
			continue
		}
		meta := &extenderv1.MetaVictims{NumPDBViolations: whole[name].NumPDBViolations}
		for i, pod := range whole[name].Pods {
			if pod == nil || pod.Metadata.UID == "" {
				return nil, bad(fmt.Sprintf("NodeNameToVictims[%q].Pods[%d].metadata.uid", name, i), "missing")
			}
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: pod.Metadata.UID})
		}
		victims[name] = meta
	}
	return victims, nil
}
