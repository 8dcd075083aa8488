package witness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Machine is a machine as the simulated backend tells of it.
type Machine struct {
	ID         string    `json:"id"`
	Claim      string    `json:"claim"`
	ClaimUID   types.UID `json:"claimUID"`
	Attempt    int32     `json:"attempt"`
	State      string    `json:"state"`
	ProviderID string    `json:"providerID"`
	Created    time.Time `json:"created"`
}

// Call is a call that the backend was sent.
type Call struct {
	At       time.Time `json:"at"`
	Verb     string    `json:"verb"`
	ClaimUID types.UID `json:"claimUID"`
	Attempt  int32     `json:"attempt"`
}

// Backend reads the simulated backend's pages. It is not the product's client: that one refuses the very lists that a
// witness must see.
type Backend struct{ URL string }

// List is every machine there is.
func (b Backend) List(ctx context.Context) ([]Machine, error) {
	var list struct {
		Machines []Machine `json:"machines"`
	}
	err := b.read(ctx, "/machines", &list)
	return list.Machines, err
}

// Calls is what the backend was asked, oldest first.
func (b Backend) Calls(ctx context.Context) ([]Call, error) {
	var calls []Call
	err := b.read(ctx, "/calls", &calls)
	return calls, err
}

// Discard takes all machines away, as if they had never been, and says how many there were.
func (b Backend) Discard(ctx context.Context) (int, error) {
	machines, err := b.List(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range machines {
		page := fmt.Sprintf("%s/machines/%s?%s", b.URL, url.PathEscape(string(m.ClaimUID)),
			url.Values{"id": {m.ID}, "claim": {m.Claim}}.Encode())
		request, err := http.NewRequestWithContext(ctx, http.MethodDelete, page, nil)
		if err != nil {
			return 0, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		answer.Body.Close()
		if answer.StatusCode >= http.StatusInternalServerError {
			return 0, fmt.Errorf("delete machine %s: %s", m.ID, answer.Status)
		}
	}
	return len(machines), nil
}

func (b Backend) read(ctx context.Context, page string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL+page, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s answers %s", b.URL, page, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return fmt.Errorf("%s%s: %w", b.URL, page, err)
	}
	return nil
}
