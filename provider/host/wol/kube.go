package wol

import (
	"context"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// Nodes finds the Node of a host, nil when there is none.
type Nodes interface {
	NodeOf(h *v1alpha1.Host) *corev1.Node
}

// Kube is the Cluster at an API server.
type Kube struct {
	Client kubernetes.Interface
	Nodes  Nodes
	Pod    PodConfig
	// Answers reports whether something answers at an address; TCPAnswers, unless a test says otherwise.
	Answers func(ctx context.Context, address string) bool
	Now     func() time.Time
	// Leases is what is remembered of the nodes' leases between two looks. Without it no node counts as silent.
	Leases *Leases
}

var _ Cluster = Kube{}

// Look takes the Node as the watch has it. A node that stopped reporting may be cut off and still run: its lease and its
// kubelet's port have the last word.
func (k Kube) Look(ctx context.Context, h *v1alpha1.Host) (Sight, error) {
	node := k.Nodes.NodeOf(h)
	if node == nil {
		return Sight{}, nil
	}
	s := Sight{Node: node.Name, SystemUUID: node.Status.NodeInfo.SystemUUID}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			s.Ready = c.Status == corev1.ConditionTrue
		}
	}
	if s.Ready {
		return s, nil
	}
	fresh, known, err := k.lease(ctx, node.Name)
	if err != nil {
		return Sight{}, err
	}
	s.Alive, s.Unsure = fresh || k.answers(ctx, node), !known
	return s, nil
}

const (
	leases = "kube-node-lease"
	// A lease is stale when it was not renewed for twice its duration; the node controller calls the node Unknown at once its duration.
	defaultLease = 40 * time.Second
	staleAfter   = 2
)

// lease tells whether the node's kubelet renewed its lease lately. Without a lease that is not known.
func (k Kube) lease(ctx context.Context, node string) (fresh, known bool, err error) {
	lease, err := k.Client.CoordinationV1().Leases(leases).Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, false, nil
	case apierrors.IsForbidden(err):
		return false, false, &provider.Error{Op: "read the lease of node " + node, Kind: provider.ErrMisconfigured, Err: err, Hint: hintComponent}
	case err != nil:
		return false, false, fmt.Errorf("read the lease of node %s: %w", node, err)
	case lease.Spec.RenewTime == nil:
		return false, false, nil
	}
	lasts := defaultLease
	if d := lease.Spec.LeaseDurationSeconds; d != nil && *d > 0 {
		lasts = time.Duration(*d) * time.Second
	}
	return k.Leases.silent(lease, k.Now()) < staleAfter*lasts, true, nil
}

const hintComponent = "apply deploy/components/poweroff: without it Muster may neither make the Pod that switches a node off nor read when a node was last alive"

// kubeletPort is what a kubelet listens on unless its Node says otherwise.
const kubeletPort = 10250

func (k Kube) answers(ctx context.Context, node *corev1.Node) bool {
	port := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	if port == 0 {
		port = kubeletPort
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && k.Answers(ctx, net.JoinHostPort(a.Address, fmt.Sprint(port))) {
			return true
		}
	}
	return false
}

// TCPAnswers reports whether a machine is at the address: it takes the connection, or refuses it. A machine that is off does
// neither. What cannot be told counts as an answer.
func TCPAnswers(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: 3 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
		return true
	}
	return !silent(err)
}

// PowerOff runs the Pod. One that is there from before is replaced when it has ended.
func (k Kube) PowerOff(ctx context.Context, h *v1alpha1.Host, node string) error {
	pods := k.Client.CoreV1().Pods(k.Pod.Namespace)
	pod := Pod(k.Pod, h.Name, node)
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return replace(ctx, k, pod)
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return &provider.Error{Op: "switch node " + node + " off", Kind: provider.ErrMisconfigured, Err: err, Hint: hintComponent}
	}
	return err
}

// Tidy removes the Pod. It is forced: the kubelet that would confirm it is gone.
func (k Kube) Tidy(ctx context.Context, h *v1alpha1.Host) error {
	err := k.Client.CoreV1().Pods(k.Pod.Namespace).Delete(ctx, PodName(h.Name), metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return &provider.Error{Op: "remove pod " + PodName(h.Name), Kind: provider.ErrMisconfigured, Err: err, Hint: hintComponent}
	}
	return err
}

func replace(ctx context.Context, k Kube, pod *corev1.Pod) error {
	pods := k.Client.CoreV1().Pods(pod.Namespace)
	old, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if over := old.Status.Phase == corev1.PodSucceeded || old.Status.Phase == corev1.PodFailed; !over && old.Spec.NodeName == pod.Spec.NodeName {
		return nil
	}
	uid := old.UID
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if err := pods.Delete(ctx, pod.Name, options); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	return err
}
