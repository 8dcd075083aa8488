package stories

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider/host/wol"
	"github.com/muster-sh/muster/test/e2e/controlplane"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// sleeper is a host without a BMC: a network card that listens for its magic packet, and a kubelet of its own, which kwok
// leaves alone, since a node whose lease is renewed is not off. It goes off when the Pod that switches it off runs on it.
type sleeper struct {
	s              *stage.Stage
	name, uuid     string
	mac, secureOn  string
	card           net.PacketConn
	mu             sync.Mutex
	on             bool
	woken, strange int // packets that were the right one, and others
	offBy          types.UID
}

// The lease of a sleeper's node is short, so that it is stale soon.
const sleeperLease = 5

func newSleeper(s *stage.Stage, name, uuid, mac, secureOn string) *sleeper {
	card, err := new(net.ListenConfig).ListenPacket(s.Ctx, "udp4", "127.0.0.1:0")
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = card.Close() })
	h := &sleeper{s: s, name: name, uuid: uuid, mac: mac, secureOn: secureOn, card: card}
	go h.listen()
	go h.live()
	return h
}

func (h *sleeper) isOn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on
}

// listen wakes the host by its packet with its password, and by no other.
func (h *sleeper) listen() {
	mac, _ := net.ParseMAC(h.mac)
	password, _ := net.ParseMAC(h.secureOn)
	magic := append(bytes.Repeat([]byte{0xff}, 6), bytes.Repeat(mac, 16)...)
	magic = append(magic, password...)
	buffer := make([]byte, 2000)
	for {
		n, _, err := h.card.ReadFrom(buffer)
		if err != nil {
			return
		}
		h.mu.Lock()
		if bytes.Equal(buffer[:n], magic) {
			h.on, h.woken = true, h.woken+1
		} else {
			h.strange++
		}
		h.mu.Unlock()
	}
}

// live is its kubelet: it registers the node, renews its lease, runs pods, and stops when the host is told to.
func (h *sleeper) live() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for h.s.Ctx.Err() == nil {
		if h.isOn() {
			if err := h.beat(h.s.Ctx); err != nil && h.s.Ctx.Err() == nil {
				h.s.T.Logf("kubelet of %s: %v", h.name, err)
			}
		}
		<-tick.C
	}
}

func (h *sleeper) beat(ctx context.Context) error {
	if err := h.renew(ctx); err != nil {
		return err
	}
	registerAs(h.s, h.name, "", h.uuid, stage.Resources("cpu", "8", "memory", "16Gi", "pods", "110"),
		map[string]string{controlplane.OwnKubelet: "true"})
	if err := h.say(ctx, corev1.ConditionTrue, "KubeletReady"); err != nil {
		return err
	}
	pods, err := h.s.Plane.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + h.name})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if err := h.run(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (h *sleeper) renew(ctx context.Context) error {
	leases := h.s.Plane.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lasts, now := int32(sleeperLease), metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{HolderIdentity: &h.name, LeaseDurationSeconds: &lasts, RenewTime: &now}
	lease, err := leases.Get(ctx, h.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: h.name}, Spec: spec}, metav1.CreateOptions{})
		return err
	}
	if err == nil {
		lease.Spec = spec
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return err
}

// say writes the node's Ready condition, if it is another one.
func (h *sleeper) say(ctx context.Context, ready corev1.ConditionStatus, reason string) error {
	nodes := h.s.Plane.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, h.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == ready {
			return nil
		}
	}
	now := metav1.Now()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: reason,
		Message: "told by the story", LastHeartbeatTime: now, LastTransitionTime: now}}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// run lets a pod run. The one that signals the node's process 1 ends the node, which says so as a kubelet does that shuts
// down gracefully, and is never heard again.
func (h *sleeper) run(ctx context.Context, p *corev1.Pod) error {
	if p.Namespace == wol.DefaultPodConfig().Namespace && p.Spec.HostPID && p.Spec.Containers[0].Command[0] == "kill" {
		h.mu.Lock()
		h.on, h.offBy = false, p.UID
		h.mu.Unlock()
		return h.say(ctx, corev1.ConditionFalse, "KubeletNotReady")
	}
	if p.Status.Phase == corev1.PodRunning || p.DeletionTimestamp != nil {
		return nil
	}
	now := metav1.Now()
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
	_, err := h.s.Plane.Client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}
