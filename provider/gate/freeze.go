package gate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// FreezeName is the name of the ConfigMap, in Muster's namespace, by which people stop destructive acts or provisioning.
const FreezeName = "muster-freeze"

// The keys of its data. Any other key makes the whole object unreadable.
const (
	FreezeReleases     = "releases"     // EveryPool, or names of pools separated by commas
	FreezeProvisioning = "provisioning" // likewise
	FreezeReason       = "reason"       // text for people
	FreezeBy           = "by"           // who set it
	FreezeSince        = "since"        // RFC 3339
)

// EveryPool as the value of a key means all pools, also those that do not exist yet.
const EveryPool = "*"

// Freeze says what people have stopped. The zero value stops nothing.
type Freeze struct {
	releases, provisioning scope
	reason, by             string
	since                  time.Time
	unread                 string // why everything counts as frozen: the object could not be read, or not be understood
}

// scope is a set of pools.
type scope struct {
	every bool
	pools []string // sorted
}

func (s scope) has(pool string) bool {
	return s.every || slices.Contains(s.pools, pool) || pool == "" && len(s.pools) > 0
}

func (s scope) empty() bool { return !s.every && len(s.pools) == 0 }

func (s scope) String() string {
	if s.every {
		return EveryPool
	}
	return strings.Join(s.pools, ",")
}

// ParseFreeze reads the data of the ConfigMap. What it cannot read counts as a freeze of everything, for all pools.
func ParseFreeze(data map[string]string) Freeze {
	var f Freeze
	for key, text := range data {
		if err := f.set(key, text); err != nil {
			f.unread = cmp.Or(min(f.unread, err.Error()), err.Error()) // the same one, whatever the order of the map
		}
	}
	if f.unread != "" {
		f.unread = "ConfigMap " + FreezeName + " cannot be understood: " + f.unread
	}
	return f
}

// FreezeUnknown is a Freeze of everything, since the object could not be read.
func FreezeUnknown(err error) Freeze {
	if err == nil {
		err = errors.New("no answer")
	}
	return Freeze{unread: "ConfigMap " + FreezeName + " cannot be read: " + plain(err.Error())}
}

func (f *Freeze) set(key, text string) (err error) {
	switch key {
	case FreezeReleases:
		f.releases, err = parseScope(text)
	case FreezeProvisioning:
		f.provisioning, err = parseScope(text)
	case FreezeReason:
		f.reason = plain(text)
	case FreezeBy:
		f.by = plain(text)
	case FreezeSince:
		if f.since, err = time.Parse(time.RFC3339, text); err != nil {
			err = errors.New("use a time as in 2026-03-01T08:00:00Z")
		}
	default:
		return fmt.Errorf("data.%s: there is no such key; use %s, %s, %s, %s or %s", shorten(plain(key), 64),
			FreezeReleases, FreezeProvisioning, FreezeReason, FreezeBy, FreezeSince)
	}
	if err != nil {
		return fmt.Errorf("data.%s %q: %w", key, shorten(plain(text), 64), err)
	}
	return nil
}

// notPools are words that say yes or no. A person who writes one means all pools, or none, and not a pool of that name.
var notPools = []string{"all", "any", "every", "false", "no", "none", "null", "off", "on", "true", "yes"}

func parseScope(text string) (scope, error) {
	if strings.TrimSpace(text) == EveryPool {
		return scope{every: true}, nil
	}
	var s scope
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if slices.Contains(notPools, name) || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return scope{}, fmt.Errorf("use %s, or names of pools separated by commas; delete the key where nothing is frozen", EveryPool)
		}
		s.pools = append(s.pools, name)
	}
	slices.Sort(s.pools)
	s.pools = slices.Compact(s.pools)
	return s, nil
}

// mostText bounds what is passed on of a text that people wrote.
const mostText = 256

// plain is a text on one line, without control characters and not longer than mostText.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return shorten(strings.Join(strings.Fields(text), " "), mostText)
}

func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// Releases says whether nothing may be destroyed of a pool, and why, in a sentence. A machine whose pool is not known ("") counts as
// one of any pool that is frozen.
func (f Freeze) Releases(pool string) (frozen bool, why string) {
	return f.says(f.releases, pool, "releases are frozen")
}

// Provisioning says whether no machine may be ordered from a pool, and why, in a sentence.
func (f Freeze) Provisioning(pool string) (frozen bool, why string) {
	return f.says(f.provisioning, pool, "provisioning is frozen")
}

func (f Freeze) says(s scope, pool, what string) (bool, string) {
	switch {
	case f.unread != "":
		return true, what + ": " + f.unread
	case !s.has(pool):
		return false, ""
	}
	if f.by != "" {
		what += " by " + f.by
	}
	if !f.since.IsZero() {
		what += " since " + f.since.UTC().Format(time.RFC3339)
	}
	if f.reason != "" {
		what += ": " + f.reason
	}
	return true, what
}

// String is what is frozen, for the log.
func (f Freeze) String() string {
	switch {
	case f.unread != "":
		return "everything: " + f.unread
	case !f.Any():
		return "nothing"
	}
	return fmt.Sprintf("releases of %q and provisioning of %q by %q: %q", f.releases, f.provisioning, f.by, f.reason)
}

// Unread says why everything counts as frozen, although no person may have frozen anything; "" where the object is understood.
func (f Freeze) Unread() string { return f.unread }

// Any says whether anything is frozen for any pool.
func (f Freeze) Any() bool { return f.unread != "" || !f.releases.empty() || !f.provisioning.empty() }

// Pools are the names of pools that it mentions, sorted.
func (f Freeze) Pools() []string {
	all := slices.Concat(f.releases.pools, f.provisioning.pools)
	slices.Sort(all)
	return slices.Compact(all)
}

// Equal says whether two say the same.
func (f Freeze) Equal(g Freeze) bool {
	sameTime := f.since.Equal(g.since)
	f.since, g.since = time.Time{}, time.Time{}
	return sameTime && reflect.DeepEqual(f, g)
}
