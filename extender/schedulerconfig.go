package extender

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// SchedulerNames are the schedulers Muster was told about.
type SchedulerNames struct {
	Place sets.Set[string] // --place-scheduler
	Guard sets.Set[string] // --guard-scheduler
}

// Problem is one thing in a KubeSchedulerConfiguration that is wrong for Muster.
type Problem struct {
	// Refused means that Muster must not run beside such a scheduler; otherwise it is advice.
	Refused bool
	Field   string // path in the file
	Value   string // what stands there
	Want    string // what is accepted
	Why     string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s: %s is not accepted, %s is: %s", p.Field, p.Value, p.Want, p.Why)
}

// Refusals joins the problems that forbid to start; nil when there is none.
func Refusals(problems []Problem) error {
	var all []error
	for _, p := range problems {
		if p.Refused {
			all = append(all, errors.New(p.String()))
		}
	}
	return errors.Join(all...)
}

// CheckSchedulerConfig reads a scheduler's configuration file, YAML or JSON, as strictly as kube-scheduler does, and
// names what would leave nobody checking room, keep Muster from being asked, or hurt. The order is that of the file's
// parts; the error is for a file that cannot be read.
func CheckSchedulerConfig(data []byte, names SchedulerNames) ([]Problem, error) {
	config, err := readSchedulerConfig(data)
	if err != nil {
		return nil, err
	}
	c := &configCheck{names: names, config: config}
	for i := range config.Extenders {
		switch modeOf(config.Extenders[i].URLPrefix) {
		case modePlace:
			c.place = append(c.place, i)
		case modeGuard:
			c.guard = append(c.guard, i)
		}
	}
	c.entries()
	c.profiles()
	c.client()
	return c.problems, nil
}

func readSchedulerConfig(data []byte) (*configv1.KubeSchedulerConfiguration, error) {
	scheme := runtime.NewScheme()
	if err := configv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the scheduler's configuration types: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	object, kind, err := codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("read KubeSchedulerConfiguration: %w", err)
	}
	config, ok := object.(*configv1.KubeSchedulerConfiguration)
	if !ok {
		want := configv1.SchemeGroupVersion.WithKind("KubeSchedulerConfiguration")
		return nil, fmt.Errorf("kind: %s is not accepted, %s is", kind, want)
	}
	return config, nil
}

// configCheck gathers problems.
type configCheck struct {
	names    SchedulerNames
	config   *configv1.KubeSchedulerConfiguration
	place    []int // indices of the entries that end in /place
	guard    []int
	problems []Problem
}

func (c *configCheck) refuse(field string, value any, want, why string) {
	c.problems = append(c.problems, Problem{true, field, fmt.Sprint(value), want, why})
}

func (c *configCheck) advise(field string, value any, want, why string) {
	c.problems = append(c.problems, Problem{false, field, fmt.Sprint(value), want, why})
}

// The client's limits that kube-scheduler starts from, and what 300 pods at once need: with the default the last one
// waits 4 s to be called unschedulable.
const (
	defaultQPS, defaultBurst = 50, 100
	wantedQPS, wantedBurst   = 500, 1000
)

func (c *configCheck) client() {
	if len(c.place) == 0 {
		return
	}
	const why = "a burst of pods waits for the scheduler's own writes"
	qps, burst := c.config.ClientConnection.QPS, c.config.ClientConnection.Burst
	if qps == 0 {
		qps = defaultQPS
	}
	if burst == 0 {
		burst = defaultBurst
	}
	if qps > 0 && qps < wantedQPS { // negative is no limit at all
		c.advise("clientConnection.qps", qps, fmt.Sprintf("%d or more", wantedQPS), why)
	}
	if burst < wantedBurst && qps > 0 {
		c.advise("clientConnection.burst", burst, fmt.Sprintf("%d or more", wantedBurst), why)
	}
}
