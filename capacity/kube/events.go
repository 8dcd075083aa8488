package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
)

// Events records events in the background, through a client of its own so that they never hold up a decision.
type Events struct {
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
}

const controllerName = "muster"

// NewEvents makes a recorder; it records once Run is called.
func NewEvents(config *rest.Config, scheme *runtime.Scheme) (*Events, error) {
	own := rest.CopyConfig(config)
	own.QPS, own.Burst = 100, 2000
	cs, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: cs.EventsV1()})
	return &Events{broadcaster: b, recorder: b.NewRecorder(scheme, controllerName)}, nil
}

// Run records until ctx ends.
func (e *Events) Run(ctx context.Context) error {
	if err := e.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	<-ctx.Done()
	e.broadcaster.Shutdown()
	return nil
}

// maxNote is the API server's limit for an event's note, in bytes.
const maxNote = 1024

func (e *Events) record(about control.Subject, warning bool, reason, message string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	if len(message) > maxNote {
		message = message[:maxNote-3] + "..."
	}
	e.recorder.Eventf(reference(about), nil, kind, reason, reason, "%s", message)
}

func reference(s control.Subject) runtime.Object {
	ref := &corev1.ObjectReference{
		Kind: s.Kind, APIVersion: "v1", Namespace: s.Namespace, Name: s.Name, UID: s.UID,
	}
	if s.Kind != "Pod" && s.Kind != "Node" {
		ref.APIVersion = metav1.GroupVersion(v1alpha1.GroupVersion).String()
	}
	return ref
}
