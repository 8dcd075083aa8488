package shipped

import (
	"fmt"
	"net/url"
	"os"
	"time"

	"sigs.k8s.io/yaml"
)

// SchedulerConfig is a KubeSchedulerConfiguration as it stands in a file. It is kept untyped, so that nothing is lost
// and nothing is defaulted between the file and kube-scheduler, which checks it strictly.
type SchedulerConfig map[string]any

// Wiring is what a shipped configuration cannot know.
type Wiring struct {
	Kubeconfig string // of the scheduler
	Extender   string // scheme://host:port of Muster; the path stays as shipped
	// CA, Cert and Key are files for mutual TLS. They are used where the shipped entry has a tlsConfig, and only there.
	CA, Cert, Key string
}

// LoadSchedulerConfig reads a configuration and fills in the wiring.
func LoadSchedulerConfig(file string, w Wiring) (SchedulerConfig, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("scheduler configuration: %w", err)
	}
	var c SchedulerConfig
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return nil, fmt.Errorf("scheduler configuration %s: %w", file, err)
	}
	c.section("clientConnection")["kubeconfig"] = w.Kubeconfig
	for _, e := range c.Extenders() {
		if err := w.fill(e); err != nil {
			return nil, fmt.Errorf("scheduler configuration %s: %w", file, err)
		}
	}
	return c, nil
}

func (w Wiring) fill(extender map[string]any) error {
	prefix, _ := extender["urlPrefix"].(string)
	shipped, err := url.Parse(prefix)
	if err != nil {
		return fmt.Errorf("urlPrefix: %w", err)
	}
	target, err := url.Parse(w.Extender)
	if err != nil {
		return fmt.Errorf("URL of the extender: %w", err)
	}
	if shipped.Scheme != target.Scheme {
		return fmt.Errorf("urlPrefix %q is shipped with scheme %s, the story offers %s", prefix, shipped.Scheme, target.Scheme)
	}
	target.Path = shipped.Path
	extender["urlPrefix"] = target.String()
	if tls, ok := extender["tlsConfig"].(map[string]any); ok {
		tls["caFile"], tls["certFile"], tls["keyFile"] = w.CA, w.Cert, w.Key
	}
	return nil
}

func (c SchedulerConfig) section(name string) map[string]any {
	s, ok := c[name].(map[string]any)
	if !ok {
		s = map[string]any{}
		c[name] = s
	}
	return s
}

// Extenders are the extender entries; changes to them are changes to the configuration.
func (c SchedulerConfig) Extenders() []map[string]any {
	list, _ := c["extenders"].([]any)
	entries := make([]map[string]any, 0, len(list))
	for _, e := range list {
		if entry, ok := e.(map[string]any); ok {
			entries = append(entries, entry)
		}
	}
	return entries
}

// WithClientSpeed sets how many requests per second the scheduler makes, for slow binding.
func (c SchedulerConfig) WithClientSpeed(qps float64, burst int) SchedulerConfig {
	c.section("clientConnection")["qps"] = qps
	c.section("clientConnection")["burst"] = burst
	return c
}

// WithoutLeaderElection is for a scheduler that has no second one.
func (c SchedulerConfig) WithoutLeaderElection() SchedulerConfig {
	c.section("leaderElection")["leaderElect"] = false
	return c
}

// WithLease sets how long a leader may be silent, and how often leaders and others look.
func (c SchedulerConfig) WithLease(lasts, renew, retry time.Duration) SchedulerConfig {
	e := c.section("leaderElection")
	e["leaseDuration"], e["renewDeadline"], e["retryPeriod"] = lasts.String(), renew.String(), retry.String()
	return c
}

// Write saves the configuration.
func (c SchedulerConfig) Write(file string) error {
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("write scheduler configuration: %w", err)
	}
	return os.WriteFile(file, text, 0o600)
}
