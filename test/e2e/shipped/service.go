package shipped

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// Service is one of our processes at an address it keeps over restarts.
type Service struct {
	*controlplane.Process
	command controlplane.Command
	// URL is where it serves; Health answers 200 when it is ready.
	URL, Health string
	// MetricsURL is the base of its metrics page, if it has one.
	MetricsURL string
}

func startService(c controlplane.Command, s Service) (*Service, error) {
	s.command = c
	return &s, s.Start()
}

// Start starts the process again at the same address.
func (s *Service) Start() (err error) {
	s.Process, err = controlplane.Run(s.command)
	return err
}

// AwaitReady waits until the health page answers 200. It ends early when the process does.
func (s *Service) AwaitReady(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		last := controlplane.HTTPReady(ctx, s.Health)
		if last == nil {
			return nil
		}
		select {
		case <-s.Exited():
			return s.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready: %w", s.Name(), last)
		case <-tick.C:
		}
	}
}

// Line is one line of a structured log.
type Line map[string]any

// Lines is the structured log so far; what is no JSON is left out.
func (s *Service) Lines() []Line {
	var lines []Line
	scanner := bufio.NewScanner(strings.NewReader(s.Log()))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l Line
		if json.Unmarshal(scanner.Bytes(), &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines
}

// MetricsPage reads the metrics page.
func (s *Service) MetricsPage(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.MetricsURL+"/metrics", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("metrics of %s: %w", s.Name(), err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	return string(page), err
}

// Metrics is what the metrics page says.
func (s *Service) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	page, err := s.MetricsPage(ctx)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(page))
}

// Total sums a counter or gauge over all its labels; a histogram counts its observations.
func Total(families map[string]*dto.MetricFamily, name string) float64 {
	sum := 0.0
	for _, m := range families[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}
