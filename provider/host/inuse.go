package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// reasonInUse is the reason of the condition Deleting, and of its event.
const reasonInUse = "InUse"

// inUse says why a Host object has to stay; empty when it may go. The object is all that says that the machine is Muster's.
func inUse(h *v1alpha1.Host) string {
	switch c := h.Status.Claim; {
	case c != nil:
		return fmt.Sprintf("NodeClaim %s has this host. Delete that NodeClaim to drain its node and switch the host off; the Host goes "+
			"when it is seen off", c.Name)
	case h.Status.SwitchedOn:
		return "Muster switched this host on and has not seen it off yet. The Host goes when it is"
	}
	return ""
}

// tellDeletion says on a host that is being deleted why it stays.
func tellDeletion(h *v1alpha1.Host, now time.Time) []Event {
	why := inUse(h)
	if h.DeletionTimestamp == nil || why == "" {
		meta.RemoveStatusCondition(&h.Status.Conditions, v1alpha1.ConditionDeleting)
		return nil
	}
	begins := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionDeleting) == nil
	meta.SetStatusCondition(&h.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: reasonInUse, Message: why,
		ObservedGeneration: h.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	if !begins {
		return nil
	}
	return []Event{{Type: corev1.EventTypeWarning, Reason: reasonInUse, Message: why}}
}

// letGo frees a host whose machine was handed over to the user: its power is left alone from then on, and while it is on the host is not
// claimed.
func letGo(h *v1alpha1.Host, now time.Time) (*v1alpha1.Host, Event) {
	h = h.DeepCopy()
	st := &h.Status
	name := st.Claim.Name
	st.Released, st.Claim, st.SwitchedOn, st.Served, st.Fault = st.Claim, nil, false, false, ""
	message := "its node is a plain node: its power is the user's"
	enter(h, v1alpha1.HostOff, message, now)
	return h, Event{Type: corev1.EventTypeNormal, Reason: "Kept", Message: "claim " + name + " is gone, and " + message}
}

// awaited says that a host which is being deleted was given back, and that its claim does not know so yet: without the object nothing
// could prove it.
func (k *Keeper) awaited(h *v1alpha1.Host) bool {
	last := h.Status.Released
	if h.DeletionTimestamp == nil || last == nil || k.Claims == nil {
		return false
	}
	c := k.Claims.ClaimOf(last.Name, last.UID)
	return c != nil && !c.Gone && c.Attempt <= last.Attempt
}

// awaitedEvery is how often it is looked whether the claim knows.
const awaitedEvery = 5 * time.Second

// settle puts Muster's finalizer on a host that is in use, and takes it off one that is not. It returns false when there is nothing
// more to be done about the host now.
func (k *Keeper) settle(ctx context.Context, h *v1alpha1.Host) (*v1alpha1.Host, bool, error) {
	held, needed := slices.Contains(h.Finalizers, v1alpha1.HostFinalizer), inUse(h) != "" || k.awaited(h)
	finalizers := slices.Clone(h.Finalizers)
	switch {
	case needed && !held && h.DeletionTimestamp == nil:
		finalizers = append(finalizers, v1alpha1.HostFinalizer)
	case !needed && held:
		finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return f == v1alpha1.HostFinalizer })
	default:
		return h, true, nil
	}
	written, err := k.Objects.SetFinalizers(ctx, h, finalizers)
	if errors.Is(err, ErrConflict) {
		return h, false, nil
	}
	if err != nil {
		return h, false, fmt.Errorf("write the finalizers: %w", err)
	}
	return written, written.DeletionTimestamp == nil || len(written.Finalizers) > 0, nil
}
