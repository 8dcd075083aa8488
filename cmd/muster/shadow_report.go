package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/capacity/shadow"
)

// maxReport is the longest report that is read, in bytes.
const maxReport = 64 << 20

func newShadowCommand(stdout io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "shadow", Short: "Look at what muster serve --shadow would have done"}
	var address, output string
	report := &cobra.Command{
		Use:   "report",
		Short: "Show what would have been bought and released, and which pods wait",
		Long:  "Report asks a muster serve --shadow, at the address of its metrics, for what Muster would have done since it began.",
		Example: `  kubectl -n muster-system port-forward deployment/muster-shadow 10271 &
  muster shadow report
  muster shadow report --address http://10.0.0.7:10271 --output json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q: use text or json", output)
			}
			r, err := fetchReport(cmd.Context(), address)
			if err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(stdout, r)
			}
			return r.WriteText(stdout)
		},
	}
	report.Flags().StringVar(&address, "address", "http://127.0.0.1:10271", "where muster serve --shadow has its --metrics-listen")
	report.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.AddCommand(report)
	return cmd
}

func fetchReport(ctx context.Context, address string) (shadow.Report, error) {
	var r shadow.Report
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return r, fmt.Errorf("--address %q: use a URL, for example http://127.0.0.1:10271", address)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("shadow").String(), nil)
	if err != nil {
		return r, fmt.Errorf("--address %q: %w", address, err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return r, fmt.Errorf("ask the shadow: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxReport))
	switch {
	case err != nil:
		return r, fmt.Errorf("read the report: %w", err)
	case answer.StatusCode == http.StatusNotFound:
		return r, fmt.Errorf("%s has no report: is it a muster serve --shadow?", address)
	case answer.StatusCode != http.StatusOK:
		return r, fmt.Errorf("%s answered %s: %s", address, answer.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%s did not answer with a report: %w", address, err)
	}
	if r.Schema != shadow.Schema {
		return r, fmt.Errorf("%s answered with %q where %q belongs", address, r.Schema, shadow.Schema)
	}
	return r, nil
}
