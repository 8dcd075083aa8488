package capacity

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// SetDeviceClass takes in a DeviceClass.
func (l *Live) SetDeviceClass(c *resourcev1.DeviceClass) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.served[c.Name] = ""
	if c.Spec.ExtendedResourceName != nil {
		l.served[c.Name] = corev1.ResourceName(*c.Spec.ExtendedResourceName)
	}
	l.reclassify()
}

// ForgetDeviceClass drops a DeviceClass that was deleted.
func (l *Live) ForgetDeviceClass(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.served, name)
	l.reclassify()
}

// reclassify makes a new set, since Views share the old one. Every class also serves the resource that is named after
// it (deviceclass.resource.kubernetes.io/<name>).
func (l *Live) reclassify() {
	l.classes = Classes{}
	for class, name := range l.served {
		l.classes.Insert(corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + class))
		if name != "" {
			l.classes.Insert(name)
		}
	}
	l.answers++
	for _, e := range l.nodes {
		l.settleReservation("", e)
	}
	l.changed()
}
