package extender

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity/amount"
)

// readPod decodes a pod whose requests can be counted.
func readPod(raw []byte) (*corev1.Pod, error) {
	if !given(raw) {
		return nil, bad("Pod", "missing")
	}
	if err := checkNumbers(raw); err != nil {
		return nil, err
	}
	pod := new(corev1.Pod)
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, bad("Pod", "%v", err)
	}
	if pod.UID == "" {
		return nil, bad("Pod.metadata.uid", "missing")
	}
	return pod, checkRequests(pod)
}

// identity finds metadata.uid and metadata.resourceVersion in a pod without decoding it; an empty version where that is not
// plainly possible.
func identity(raw []byte) (uid types.UID, version string) {
	var metadata []byte
	pod := scanner{data: raw}
	if pod.object(func(key string, value []byte) error { return once(key, "metadata", value, &metadata) }) != nil {
		return "", ""
	}
	var id, v []byte
	object := scanner{data: metadata}
	err := object.object(func(key string, value []byte) error {
		return errors.Join(once(key, "uid", value, &id), once(key, "resourceVersion", value, &v))
	})
	if err != nil || !plain(id) || !plain(v) {
		return "", ""
	}
	return types.UID(id[1 : len(id)-1]), string(v[1 : len(v)-1])
}

// once takes the value of a member. encoding/json ignores case and takes the last of several: both are left to it.
func once(key, wanted string, value []byte, into *[]byte) error {
	switch {
	case key == wanted && *into == nil:
		*into = value
	case strings.EqualFold(key, wanted):
		return errAmbiguous
	}
	return nil
}

var errAmbiguous = errors.New("a member is given twice")

// checkRequests refuses amounts that cannot be counted: negative ones, and a sum past 64 bits, which would wrap into a
// small request. The sum over all containers is never less than what any rule of counting makes of them.
func checkRequests(pod *corev1.Pod) error {
	sum := requestSum{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		field := fmt.Sprintf("Pod.spec.initContainers[%q].resources.requests", c.Name)
		if err := sum.add(field, c.Resources.Requests); err != nil {
			return err
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		field := fmt.Sprintf("Pod.spec.containers[%q].resources.requests", c.Name)
		if err := sum.add(field, c.Resources.Requests); err != nil {
			return err
		}
	}
	if pod.Spec.Resources != nil {
		if err := sum.add("Pod.spec.resources.requests", pod.Spec.Resources.Requests); err != nil {
			return err
		}
	}
	return sum.add("Pod.spec.overhead", pod.Spec.Overhead)
}

// requestSum is the sum so far of each resource, in the unit it is counted in: milli CPU, everything else as it is.
type requestSum map[corev1.ResourceName]int64

func (s requestSum) add(field string, list corev1.ResourceList) error {
	for _, name := range sortedNames(list) {
		q := list[name]
		if !amount.Countable(q) {
			return bad(fmt.Sprintf("%s[%q]", field, name), "its exponent is too large")
		}
		v, counted := inUnits(name, q)
		switch {
		case q.Sign() < 0:
			return bad(fmt.Sprintf("%s[%q]", field, name), "%s is negative", q.String())
		case !counted || s[name] > math.MaxInt64-v:
			return bad(fmt.Sprintf("%s[%q]", field, name), "%s is more than can be counted", q.String())
		}
		s[name] += v
	}
	return nil
}

// inUnits is a quantity in the unit it is counted in. Quantities of 2^63-1 are those that were larger and were cut.
func inUnits(name corev1.ResourceName, q resource.Quantity) (int64, bool) {
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return 0, false
	}
	if name != corev1.ResourceCPU {
		return q.Value(), true
	}
	if q.CmpInt64(math.MaxInt64/1000) >= 0 {
		return 0, false
	}
	return q.MilliValue(), true
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
