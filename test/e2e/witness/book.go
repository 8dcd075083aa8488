package witness

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	podresource "k8s.io/component-helpers/resource"
)

// Book is what bound pods ask of every node. A pod counts from its binding until it has finished or is gone, a
// terminating one included, as in kube-scheduler's own accounts.
type Book struct {
	room map[string]corev1.ResourceList
	pods map[string]map[types.UID]corev1.ResourceList // by node, then by pod
}

// NewBook is an empty book.
func NewBook() *Book {
	return &Book{room: map[string]corev1.ResourceList{}, pods: map[string]map[types.UID]corev1.ResourceList{}}
}

// SetNode notes a node's allocatable.
func (b *Book) SetNode(n *corev1.Node) { b.room[n.Name] = n.Status.Allocatable }

// DropNode forgets a node; pods that still name it are nobody's overbooking.
func (b *Book) DropNode(name string) { delete(b.room, name) }

// SetPod enters a pod, or strikes it out when it is not bound or has finished. It returns the pod's node.
func (b *Book) SetPod(p *corev1.Pod) string {
	node := p.Spec.NodeName
	if node == "" {
		return ""
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		b.DropPod(p)
		return node
	}
	if b.pods[node] == nil {
		b.pods[node] = map[types.UID]corev1.ResourceList{}
	}
	b.pods[node][p.UID] = requests(p)
	return node
}

// DropPod strikes a pod out.
func (b *Book) DropPod(p *corev1.Pod) { delete(b.pods[p.Spec.NodeName], p.UID) }

func requests(p *corev1.Pod) corev1.ResourceList {
	sum := podresource.PodRequests(p, podresource.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	sum[corev1.ResourcePods] = resource.MustParse("1")
	return sum
}

// Over lists what a node has too little of, sorted; empty when all is well or the node is not known.
func (b *Book) Over(node string) []string {
	room, known := b.room[node]
	if !known {
		return nil
	}
	var over []string
	for name, asked := range b.asked(node) {
		if has := room[name]; asked.Cmp(has) > 0 {
			over = append(over, fmt.Sprintf("node %s: %s of %s are requested, %s is allocatable",
				node, asked.String(), name, has.String()))
		}
	}
	sort.Strings(over)
	return over
}

// OverAnywhere is Over for every node.
func (b *Book) OverAnywhere() []string {
	var over []string
	for node := range b.room {
		over = append(over, b.Over(node)...)
	}
	sort.Strings(over)
	return over
}

// Pods is how many pods count on all known nodes.
func (b *Book) Pods() int {
	n := 0
	for node := range b.room {
		n += len(b.pods[node])
	}
	return n
}

func (b *Book) asked(node string) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, list := range b.pods[node] {
		for name, q := range list {
			if q.IsZero() {
				continue // a request of nothing needs no room
			}
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	return sum
}
