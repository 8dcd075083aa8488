package capacity

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// fitCase is one pod, one node, what else is on it, and the answer. why is the zero Reason where the pod fits.
type fitCase struct {
	pod        *corev1.Pod
	node       *corev1.Node
	used       amount.Resources
	classes    Classes
	why        Reason
	resolvable bool
}

func (c fitCase) check(t *testing.T) {
	t.Helper()
	n := &Node{Name: c.node.Name, Object: c.node, Allocatable: amount.Of(c.node.Status.Allocatable), Used: c.used}
	ask := NewAsk(c.pod)
	want := Verdict{Fits: c.why == Reason{}, Reason: c.why, Resolvable: c.resolvable}
	assert.Equal(t, want, Fit(ask, n, n.Free(), c.classes))
	if got := Admits(ask, n); got.Fits {
		assert.Equal(t, want, Room(ask, n.Allocatable, n.room(ask), c.classes), "by the room of the kinds asked for")
	}
}

func lacks(name corev1.ResourceName) Reason {
	return Reason{Code: CodeInsufficient, Detail: string(name)}
}

// The rules of noderesources/fit.go, fitsRequest.
func TestRoomFollowsNodeResourcesFit(t *testing.T) {
	four := object.Node("n", "cpu", "4", "memory", "8Gi", "ephemeral-storage", "10Gi", "pods", "3")
	for name, c := range map[string]fitCase{
		"a pod as large as the node fits": {pod: object.Pod("p", "cpu", "4", "memory", "8Gi", "ephemeral-storage", "10Gi"), node: four},
		"a milli more than the node can never fit": {
			pod: object.Pod("p", "cpu", "4001m"), node: four, why: lacks("cpu")},
		"cpu in use is short, and room could be made": {
			pod: object.Pod("p", "cpu", "1"), node: four, used: amount.Resources{MilliCPU: 3001}, why: lacks("cpu"), resolvable: true},
		"a byte of memory too many": {
			pod: object.Pod("p", "memory", "8589934593"), node: four, why: lacks("memory")},
		"memory in use is short": {
			pod: object.Pod("p", "memory", "1Gi"), node: four, used: amount.Resources{Memory: 8 << 30}, why: lacks("memory"), resolvable: true},
		"ephemeral storage is judged like the rest": {
			pod: object.Pod("p", "ephemeral-storage", "11Gi"), node: four, why: lacks("ephemeral-storage")},
		"ephemeral storage in use": {
			pod: object.Pod("p", "ephemeral-storage", "1Gi"), node: four, used: amount.Resources{EphemeralStorage: 10 << 30},
			why: lacks("ephemeral-storage"), resolvable: true},
		"the pod count is used up, whatever the pod asks": {
			pod: object.Pod("p"), node: four, used: amount.Resources{Pods: 3}, why: Reason{Code: CodeTooManyPods}, resolvable: true},
		"the last place is a place": {pod: object.Pod("p"), node: four, used: amount.Resources{Pods: 2}},
		"a node that takes no pods at all": {
			pod: object.Pod("p"), node: object.Node("n", "cpu", "4", "pods", "0"), why: Reason{Code: CodeTooManyPods}},
		"a pod that asks for no cpu passes a node whose cpu is overbooked": {
			pod: object.Pod("p", "memory", "1Gi"), node: four, used: amount.Resources{MilliCPU: 9000}},
		"a pod that asks for zero cpu does too": {
			pod: object.Pod("p", "cpu", "0", "memory", "1Gi"), node: four, used: amount.Resources{MilliCPU: 9000}},
		"a pod that asks for nothing passes a node that is overbooked in everything": {
			pod: object.Pod("p"), node: four, used: amount.Resources{MilliCPU: 9000, Memory: 9 << 30, EphemeralStorage: 11 << 30}},
		"two kinds short: the first is told, and one that can never fit makes the node hopeless": {
			pod: object.Pod("p", "cpu", "1", "memory", "9Gi"), node: four, used: amount.Resources{MilliCPU: 4000}, why: lacks("cpu")},
		"two kinds short that could be freed": {
			pod: object.Pod("p", "cpu", "1", "memory", "1Gi"), node: four, used: amount.Resources{MilliCPU: 4000, Memory: 8 << 30},
			why: lacks("cpu"), resolvable: true},
		"pods and memory short": {
			pod: object.Pod("p", "memory", "9Gi"), node: four, used: amount.Resources{Pods: 3}, why: Reason{Code: CodeTooManyPods}},
	} {
		t.Run(name, c.check)
	}
}

func TestRoomForNamedResources(t *testing.T) {
	const gpu, fpga = corev1.ResourceName("example.com/gpu"), corev1.ResourceName("example.com/fpga")
	plain := object.Node("n", "cpu", "4", "memory", "8Gi")
	two := object.Node("n", "cpu", "4", "example.com/gpu", "2", "hugepages-2Mi", "64Mi", "hugepages-1Gi", "0")
	served := Classes{}
	served.Insert(gpu)
	for name, c := range map[string]fitCase{
		"an extended resource the node offers": {pod: object.Pod("p", "example.com/gpu", "2"), node: two},
		"more than it offers":                  {pod: object.Pod("p", "example.com/gpu", "3"), node: two, why: lacks(gpu)},
		"it is in use": {
			pod: object.Pod("p", "example.com/gpu", "1"), node: two,
			used: amount.Of(object.Amounts("example.com/gpu", "2")), why: lacks(gpu), resolvable: true},
		"a node that does not offer it":             {pod: object.Pod("p", "example.com/gpu", "1"), node: plain, why: lacks(gpu)},
		"zero of it is no request":                  {pod: object.Pod("p", "example.com/gpu", "0"), node: plain},
		"zero of it passes a node that is overfull": {pod: object.Pod("p", "example.com/gpu", "0"), node: two, used: amount.Of(object.Amounts("example.com/gpu", "5"))},
		"served by a DeviceClass and not offered: the in-tree plugin judges": {
			pod: object.Pod("p", "example.com/gpu", "9"), node: plain, classes: served},
		"served by a DeviceClass and offered at zero: the in-tree plugin judges": {
			pod: object.Pod("p", "example.com/gpu", "1"), node: object.Node("n", "cpu", "4", "example.com/gpu", "0"), classes: served},
		"served by a DeviceClass and offered: judged here": {
			pod: object.Pod("p", "example.com/gpu", "3"), node: two, classes: served, why: lacks(gpu)},
		"another class is no excuse": {
			pod: object.Pod("p", "example.com/fpga", "1"), node: plain, classes: served, why: lacks(fpga)},
		"of several short the first by name is told": {
			pod: object.Pod("p", "example.com/gpu", "1", "example.com/fpga", "1"), node: plain, why: lacks(fpga)},
		"huge pages":                     {pod: object.Pod("p", "hugepages-2Mi", "64Mi"), node: two},
		"more huge pages than there are": {pod: object.Pod("p", "hugepages-2Mi", "66Mi"), node: two, why: lacks("hugepages-2Mi")},
		"huge pages of another size":     {pod: object.Pod("p", "hugepages-1Gi", "1Gi"), node: two, why: lacks("hugepages-1Gi")},
		"attachable volumes are counted by name": {
			pod:  object.Pod("p", "attachable-volumes-csi-x", "2"),
			node: object.Node("n", "attachable-volumes-csi-x", "1"), why: lacks("attachable-volumes-csi-x")},
		"names of kubernetes.io are counted by name": {
			pod: object.Pod("p", "kubernetes.io/batch-cpu", "1"), node: plain, why: lacks("kubernetes.io/batch-cpu")},
		"a bare name that the scheduler does not know is not counted": {pod: object.Pod("p", "storage", "1Gi"), node: plain},
		"a class's own name of kubernetes.io is left to the in-tree plugin": {
			pod: object.Pod("p", "deviceclass.resource.kubernetes.io/x", "1"), node: plain,
			classes: Classes{"deviceclass.resource.kubernetes.io/x": {}}},
	} {
		t.Run(name, c.check)
	}
}

// The rules of nodeunschedulable and tainttoleration.
func TestAdmitsFollowsTaints(t *testing.T) {
	plain := object.Node("n", "cpu", "4")
	cordoned := plain.DeepCopy()
	cordoned.Spec.Unschedulable = true
	tolerating := func(tolerations ...corev1.Toleration) *corev1.Pod {
		p := object.Pod("p", "cpu", "1")
		p.Spec.Tolerations = tolerations
		return p
	}
	dedicated := object.Tainted(plain, "team", corev1.TaintEffectNoSchedule)
	dedicated.Spec.Taints[0].Value = "a"
	for name, c := range map[string]fitCase{
		"NoSchedule refuses": {pod: tolerating(), node: dedicated, why: Reason{Code: CodeTaint, Detail: "team=a:NoSchedule"}},
		"NoExecute refuses": {
			pod: tolerating(), node: object.Tainted(plain, "bad", corev1.TaintEffectNoExecute), why: Reason{Code: CodeTaint, Detail: "bad:NoExecute"}},
		"PreferNoSchedule is no refusal": {pod: tolerating(), node: object.Tainted(plain, "meh", corev1.TaintEffectPreferNoSchedule)},
		"tolerated by value":             {pod: tolerating(corev1.Toleration{Key: "team", Value: "a"}), node: dedicated},
		"another value does not tolerate": {
			pod: tolerating(corev1.Toleration{Key: "team", Value: "b"}), node: dedicated,
			why: Reason{Code: CodeTaint, Detail: "team=a:NoSchedule"}},
		"tolerated by existence": {
			pod: tolerating(corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}), node: dedicated},
		"another effect does not tolerate": {
			pod:  tolerating(corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}),
			node: dedicated, why: Reason{Code: CodeTaint, Detail: "team=a:NoSchedule"}},
		"an empty key with Exists tolerates all": {
			pod: tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), node: object.Tainted(dedicated, "bad", corev1.TaintEffectNoExecute)},
		"toleration seconds do not matter to placing": {
			pod:  tolerating(corev1.Toleration{Key: "bad", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(0))}),
			node: object.Tainted(plain, "bad", corev1.TaintEffectNoExecute)},
		"the second taint refuses too": {
			pod:  tolerating(corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}),
			node: object.Tainted(dedicated, "bad", corev1.TaintEffectNoExecute), why: Reason{Code: CodeTaint, Detail: "bad:NoExecute"}},
		"comparing operators are an alpha feature and tolerate nothing": {
			pod:  tolerating(corev1.Toleration{Key: "team", Operator: "Lt", Value: "5", Effect: corev1.TaintEffectNoSchedule}),
			node: dedicated, why: Reason{Code: CodeTaint, Detail: "team=a:NoSchedule"}},
		"an unknown operator tolerates nothing": {
			pod: tolerating(corev1.Toleration{Key: "team", Operator: "Like", Value: "a"}), node: dedicated,
			why: Reason{Code: CodeTaint, Detail: "team=a:NoSchedule"}},
		"a cordoned node refuses": {pod: tolerating(), node: cordoned, why: Reason{Code: CodeUnschedulable}},
		"a cordon is tolerated like its taint": {
			pod:  tolerating(corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}),
			node: cordoned},
		"a cordon is tolerated by a toleration of everything": {
			pod: tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), node: cordoned},
		"a cordon comes before taints": {
			pod: tolerating(), node: func() *corev1.Node { n := dedicated.DeepCopy(); n.Spec.Unschedulable = true; return n }(),
			why: Reason{Code: CodeUnschedulable}},
		"a taint comes before room": {
			pod: object.Pod("p", "cpu", "9"), node: dedicated, why: Reason{Code: CodeTaint, Detail: "team=a:NoSchedule"}},
	} {
		t.Run(name, c.check)
	}
}

// The rules of nodeaffinity.
func TestAdmitsFollowsNodeAffinity(t *testing.T) {
	node := object.Node("n1", "cpu", "4")
	node.Labels = map[string]string{"zone": "a", "cores": "16", "empty": ""}
	selecting := func(selector map[string]string, terms ...corev1.NodeSelectorTerm) *corev1.Pod {
		p := object.Pod("p", "cpu", "1")
		p.Spec.NodeSelector = selector
		if terms != nil {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		}
		return p
	}
	is := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	all := func(r ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: r}
	}
	fields := func(r ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: r}
	}
	const in, notIn, gt, lt = corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt
	const exists, absent = corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist
	both := fields(is("metadata.name", in, "n1"))
	both.MatchExpressions = []corev1.NodeSelectorRequirement{is("zone", in, "b")}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		fits bool
	}{
		"no selector at all":                       {selecting(nil), true},
		"a label that matches":                     {selecting(map[string]string{"zone": "a"}), true},
		"a label of another value":                 {selecting(map[string]string{"zone": "b"}), false},
		"all labels have to match":                 {selecting(map[string]string{"zone": "a", "disk": "ssd"}), false},
		"an empty value has to be there":           {selecting(map[string]string{"empty": ""}), true},
		"an absent label is not an empty one":      {selecting(map[string]string{"absent": ""}), false},
		"selector and affinity both have to match": {selecting(map[string]string{"zone": "b"}, all(is("zone", in, "a"))), false},
		"In":                                     {selecting(nil, all(is("zone", in, "b", "a"))), true},
		"In, none of them":                       {selecting(nil, all(is("zone", in, "b", "c"))), false},
		"NotIn":                                  {selecting(nil, all(is("zone", notIn, "b"))), true},
		"NotIn passes where the label is absent": {selecting(nil, all(is("disk", notIn, "ssd"))), true},
		"Exists":                                 {selecting(nil, all(is("cores", exists))), true},
		"Exists, absent":                         {selecting(nil, all(is("disk", exists))), false},
		"DoesNotExist":                           {selecting(nil, all(is("disk", absent))), true},
		"Gt":                                     {selecting(nil, all(is("cores", gt, "8"))), true},
		"Gt is not greater or equal":             {selecting(nil, all(is("cores", gt, "16"))), false},
		"Lt":                                     {selecting(nil, all(is("cores", lt, "17"))), true},
		"Lt is not less or equal":                {selecting(nil, all(is("cores", lt, "16"))), false},
		"Gt of a label that is no number":        {selecting(nil, all(is("zone", gt, "1"))), false},
		"Gt of an absent label":                  {selecting(nil, all(is("disk", gt, "1"))), false},
		"requirements of a term are ANDed":       {selecting(nil, all(is("zone", in, "a"), is("cores", lt, "8"))), false},
		"terms are ORed":                         {selecting(nil, all(is("zone", in, "b")), all(is("cores", gt, "8"))), true},
		"an empty term matches nothing":          {selecting(nil, all()), false},
		"an empty term beside one that matches":  {selecting(nil, all(), all(is("zone", in, "a"))), true},
		"matchFields by name":                    {selecting(nil, fields(is("metadata.name", in, "n1"))), true},
		"matchFields, another node":              {selecting(nil, fields(is("metadata.name", in, "n2"))), false},
		"matchFields NotIn":                      {selecting(nil, fields(is("metadata.name", notIn, "n1"))), false},
		"matchFields and matchExpressions are ANDed": {selecting(nil, both), false},
		"matchFields with two names does not parse":  {selecting(nil, fields(is("metadata.name", in, "n1", "n2"))), false},
		"an unknown operator does not parse":         {selecting(nil, all(is("zone", "Like", "a"))), false},
		"Gt without a number does not parse":         {selecting(nil, all(is("cores", gt, "many"))), false},
		"In without values does not parse":           {selecting(nil, all(is("zone", in))), false},
		"a term that does not parse does not spoil one that matches": {
			selecting(nil, all(is("zone", "Like", "a")), all(is("zone", in, "a"))), true},
		"a preference is never a refusal":             {object.Preferring(object.Pod("p"), 10, is("zone", in, "b")), true},
		"a preference that does not parse is ignored": {object.Preferring(object.Pod("p"), 10, is("zone", "Like", "b")), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := fitCase{pod: c.pod, node: node}
			if !c.fits {
				f.why = Reason{Code: CodeAffinity}
			}
			f.check(t)
		})
	}
	t.Run("a required affinity with no terms matches nothing", func(t *testing.T) {
		p := selecting(nil, all())
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = nil
		fitCase{pod: p, node: node, why: Reason{Code: CodeAffinity}}.check(t)
	})
}

// The API server refuses negative amounts; a file or a raw request may carry them.
func TestARequestThatCannotBeTrustedFitsNowhere(t *testing.T) {
	huge := object.Node("n", "cpu", "100E", "memory", "100E", "example.com/gpu", "100E")
	negative := func(change func(p *corev1.Pod, minus corev1.ResourceList)) *corev1.Pod {
		p := object.Pod("p", "cpu", "1")
		change(p, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("-1m")})
		return p
	}
	why := Reason{Code: CodeInvalid}
	for name, p := range map[string]*corev1.Pod{
		"a negative request":           object.Pod("p", "cpu", "-1"),
		"a negative extended resource": object.Pod("p", "cpu", "1", "example.com/gpu", "-5"),
		"a negative one beside a larger positive one": negative(func(p *corev1.Pod, minus corev1.ResourceList) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: minus}})
		}),
		"in an init container": negative(func(p *corev1.Pod, minus corev1.ResourceList) {
			p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: minus}}}
		}),
		"in the overhead": negative(func(p *corev1.Pod, minus corev1.ResourceList) { p.Spec.Overhead = minus }),
		"at pod level": negative(func(p *corev1.Pod, minus corev1.ResourceList) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: minus}
		}),
		"more cores than can be counted":        object.Pod("p", "cpu", "10E"),
		"more memory than can be counted":       object.Pod("p", "memory", "10E"),
		"an exponent that nobody can work with": object.Pod("p", "cpu", "1E1001000000"),
		"the same below zero":                   object.Pod("p", "cpu", "-1E1001000000"),
		"more of anything than can be counted":  object.Pod("p", "example.com/gpu", "10E"),
		"two containers whose sum would wrap": func() *corev1.Pod {
			p := object.Pod("p", "memory", "9223372036854775807")
			p.Spec.Containers = append(p.Spec.Containers, object.Container("b", "memory", "9223372036854775807"))
			return p
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			fitCase{pod: p, node: huge, why: why}.check(t)
			a := NewAsk(p)
			assert.Equal(t, why, a.Unjudged, "no machine is planned for it")
			assert.False(t, a.Requests.MilliCPU < 0 || a.Requests.Memory < 0 || a.Requests.Scalar["example.com/gpu"] < 0)
		})
	}
}
