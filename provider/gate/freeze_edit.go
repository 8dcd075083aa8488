package gate

import (
	"fmt"
	"slices"
	"time"
)

// Note is what people say of a freeze.
type Note struct {
	By, Reason string
	Since      time.Time
}

// Freezing is f with more frozen: these keys (FreezeReleases, FreezeProvisioning) for these pools, all of them where none is named. What
// was said of an earlier freeze that stands is kept in the reason.
func (f Freeze) Freezing(keys, pools []string, n Note) Freeze {
	if before := f.reason; f.Any() && before != "" && before != plain(n.Reason) {
		n.Reason = fmt.Sprintf("%s (before, by %s: %s)", n.Reason, f.by, before)
	}
	f.by, f.reason, f.since = plain(n.By), plain(n.Reason), n.Since
	for _, key := range keys {
		s := f.scope(key)
		if len(pools) == 0 {
			*s = scope{every: true}
		}
		if s.every {
			continue
		}
		s.pools = slices.Concat(s.pools, pools)
		slices.Sort(s.pools)
		s.pools = slices.Compact(s.pools)
	}
	return f
}

// Thawing is f with less frozen: these keys for these pools, all of them where none is named. Where every pool was frozen and some go
// on, the others of those that exist stay frozen, by name. Thawing everything also ends a freeze that cannot be understood.
func (f Freeze) Thawing(keys, pools, existing []string) Freeze {
	if len(pools) == 0 && slices.Contains(keys, FreezeReleases) && slices.Contains(keys, FreezeProvisioning) {
		return Freeze{}
	}
	for _, key := range keys {
		s := f.scope(key)
		if len(pools) == 0 {
			*s = scope{}
			continue
		}
		if s.every {
			*s = scope{pools: slices.Sorted(slices.Values(existing))}
		}
		s.pools = slices.DeleteFunc(slices.Clone(s.pools), func(name string) bool { return slices.Contains(pools, name) })
	}
	if !f.Any() {
		return Freeze{}
	}
	return f
}

func (f *Freeze) scope(key string) *scope {
	if key == FreezeProvisioning {
		return &f.provisioning
	}
	return &f.releases
}

// Data is what ParseFreeze reads. Of a freeze that cannot be understood there is none.
func (f Freeze) Data() map[string]string {
	data := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			data[key] = value
		}
	}
	set(FreezeReleases, f.releases.String())
	set(FreezeProvisioning, f.provisioning.String())
	set(FreezeBy, f.by)
	set(FreezeReason, f.reason)
	if !f.since.IsZero() {
		data[FreezeSince] = f.since.UTC().Format(time.RFC3339)
	}
	return data
}
