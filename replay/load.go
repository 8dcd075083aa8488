package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Load brings pods in the order of their arrival. Next returns io.EOF after the last one.
type Load interface {
	Next() (Arrival, error)
}

// Arrival is a pod that somebody creates.
type Arrival struct {
	// At is when, from the world's zero.
	At time.Duration
	// Pod as it is created; its UID is given by the world.
	Pod *corev1.Pod
	// Runs is how long it runs once it is started; 0 is until it leaves.
	Runs time.Duration
	// Leaves is when somebody deletes it, wherever it stands then; 0 is never.
	Leaves time.Duration
}

// Zero is the moment from which arrivals count.
var Zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
