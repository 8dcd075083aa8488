package extender

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	configv1 "k8s.io/kube-scheduler/config/v1"
)

type mode string

const (
	modePlace mode = "place"
	modeGuard mode = "guard"
)

// modeOf tells which of Muster's two prefixes an entry calls, if any.
func modeOf(urlPrefix string) mode {
	u, err := url.Parse(urlPrefix)
	if err != nil {
		return ""
	}
	switch m := mode(path.Base(u.Path)); m {
	case modePlace, modeGuard:
		return m
	}
	return ""
}

// entries checks the list of extenders.
func (c *configCheck) entries() {
	if len(c.place)+len(c.guard) == 0 {
		c.refuse("extenders", fmt.Sprintf("a list of %d without Muster", len(c.config.Extenders)),
			"an entry whose urlPrefix ends in /place or /guard", "Muster is never asked")
	}
	for n, i := range c.place {
		if n > 0 {
			c.refuse(entryField(i, "urlPrefix"), c.config.Extenders[i].URLPrefix, "one entry that ends in /place",
				"the second call for a pod gives up what the first one held")
		}
		c.placeEntry(i)
	}
	for _, i := range c.guard {
		c.guardEntry(i)
	}
}

func entryField(i int, name string) string { return fmt.Sprintf("extenders[%d].%s", i, name) }

// placeEntry refuses all that lets a pod pass unchecked: in place mode nobody else checks room.
func (c *configCheck) placeEntry(i int) {
	e := &c.config.Extenders[i]
	if e.Ignorable {
		c.refuse(entryField(i, "ignorable"), true, "false", "while Muster is away nobody checks room")
	}
	if len(e.ManagedResources) > 0 {
		c.refuse(entryField(i, "managedResources"), resourceNames(e.ManagedResources), "an empty list",
			"for pods that ask for none of these nobody checks room")
	}
	c.verb(i, "filterVerb", e.FilterVerb, "filter", "nobody checks room")
	if e.PreemptVerb != "" {
		c.refuse(entryField(i, "preemptVerb"), quote(e.PreemptVerb), "an empty one", "/place has no such verb")
	}
	c.commonEntry(i)
}

// guardEntry: a guard that is not asked about some pods lets them go on nodes that are being released.
func (c *configCheck) guardEntry(i int) {
	e := &c.config.Extenders[i]
	if !e.Ignorable {
		c.advise(entryField(i, "ignorable"), false, "true", "while Muster is away this scheduler places nothing at all")
	}
	if len(e.ManagedResources) > 0 {
		c.refuse(entryField(i, "managedResources"), resourceNames(e.ManagedResources), "an empty list",
			"pods that ask for none of these go on nodes that are being released")
	}
	c.verb(i, "filterVerb", e.FilterVerb, "filter", "pods go on nodes that are being released")
	if e.PreemptVerb == "" {
		c.advise(entryField(i, "preemptVerb"), quote(""), quote("preempt"),
			"pods are killed for room on nodes that are being released")
	} else {
		c.verb(i, "preemptVerb", e.PreemptVerb, "preempt", "/guard has no such verb, and preemption fails")
	}
	c.commonEntry(i)
}

func (c *configCheck) commonEntry(i int) {
	e := &c.config.Extenders[i]
	if e.PrioritizeVerb != "" {
		c.verb(i, "prioritizeVerb", e.PrioritizeVerb, "prioritize", "Muster has no such verb")
	}
	if e.BindVerb != "" {
		c.refuse(entryField(i, "bindVerb"), quote(e.BindVerb), "an empty one", "Muster binds no pods")
	}
	if !e.NodeCacheCapable {
		c.advise(entryField(i, "nodeCacheCapable"), false, "true", "every call carries every node whole, which is slow")
	}
	c.timeout(i, e.HTTPTimeout.Duration)
	c.transport(i, e)
}

func (c *configCheck) verb(i int, name, value, want, why string) {
	if value != want {
		c.refuse(entryField(i, name), quote(value), quote(want), why)
	}
}

// The bounds of a sensible timeout; zero is kube-scheduler's default of 5 s.
const shortTimeout, longTimeout = time.Second, 30 * time.Second

func (c *configCheck) timeout(i int, d time.Duration) {
	switch {
	case d == 0:
	case d < shortTimeout:
		c.advise(entryField(i, "httpTimeout"), d, "1s to 30s", "a slow moment of the machine fails scheduling")
	case d > longTimeout:
		c.advise(entryField(i, "httpTimeout"), d, "1s to 30s",
			"calls are made one after another: one that hangs stops all scheduling")
	}
}

// transport: kube-scheduler turns the verification of the server off when enableHTTPS stands without a CA.
func (c *configCheck) transport(i int, e *configv1.Extender) {
	u, err := url.Parse(e.URLPrefix)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.refuse(entryField(i, "urlPrefix"), quote(e.URLPrefix), "http:// or https://, a host and a path",
			"it cannot be called")
		return
	}
	tls := e.TLSConfig
	if tls == nil {
		tls = &configv1.ExtenderTLSConfig{}
	}
	switch {
	case e.EnableHTTPS && u.Scheme != "https":
		c.refuse(entryField(i, "enableHTTPS"), true, "an urlPrefix that begins with https://",
			"the calls are not encrypted all the same")
	case e.EnableHTTPS && tls.CAFile == "" && len(tls.CAData) == 0:
		c.refuse(entryField(i, "tlsConfig.caFile"), quote(""), "a CA file (or caData)",
			"without one the server is not verified at all")
	case u.Scheme == "http" && !loopbackHost(u.Hostname()):
		c.advise(entryField(i, "urlPrefix"), quote(e.URLPrefix), "https://, or a loopback address", "anybody on the way can answer")
	}
	if tls.Insecure {
		c.refuse(entryField(i, "tlsConfig.insecure"), true, "false", "the server is not verified at all")
	}
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func resourceNames(managed []configv1.ExtenderManagedResource) string {
	names := make([]string, 0, len(managed))
	for _, m := range managed {
		names = append(names, m.Name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
