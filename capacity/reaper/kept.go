package reaper

import (
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// protected says that somebody asked for this machine to be kept.
func protected(c *capacity.Claim) bool {
	if c.Object.Annotations[v1alpha1.DoNotReleaseAnnotation] == "true" {
		return true
	}
	for _, key := range []string{
		v1alpha1.DoNotReleaseAnnotation, v1alpha1.ScaleDownDisabledAnnotation, v1alpha1.DoNotDisruptAnnotation,
	} {
		if c.Node.Object.Annotations[key] == "true" {
			return true
		}
	}
	return false
}

// findOutage looks for an outage because of which nothing is released: pods of the silent nodes may come back to life or need another
// node within minutes, and what looks idle may be what they are about to move to.
func (d *decider) findOutage() {
	o := d.v.Outage(d.now.Add(-capacity.OutageLasts))
	d.outage = o.On()
	if !o.Ends.IsZero() {
		d.wake(o.Ends.Sub(d.now))
	}
}
