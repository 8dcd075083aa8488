package witness

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

type backend struct {
	machines []Machine
	err      error
}

func (b backend) List(context.Context) ([]Machine, error) { return b.machines, b.err }

func TestMachines(t *testing.T) {
	one := Machine{ID: "1", Claim: "web-000", ClaimUID: "u0"}
	cases := []struct {
		name     string
		machines []Machine
		findings int
	}{
		{"one machine for one claim is right", []Machine{one}, 0},
		{"two machines for one claim are not", []Machine{one, {ID: "2", Claim: "web-000", ClaimUID: "u0"}}, 1},
		{"a claim made anew may find its forerunner's machine", []Machine{one, {ID: "2", Claim: "web-000", ClaimUID: "u1"}}, 0},
		{"one above the maximum is too many", []Machine{one,
			{ID: "2", Claim: "web-001", ClaimUID: "u1"}, {ID: "3", Claim: "web-002", ClaimUID: "u2"}}, 1},
		{"a machine of no known pool is a finding", []Machine{{ID: "9", Claim: "odd-000", ClaimUID: "x"}}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := WatchMachines(t.Context(), backend{machines: c.machines})
			m.Allow("web", 2)
			found, err := m.Verdict(t.Context())
			require.NoError(t, err)
			require.Len(t, found, c.findings, "%v", found)
		})
	}
}

func TestMachinesSaysWhenItCouldNotLook(t *testing.T) {
	m := WatchMachines(t.Context(), backend{err: errors.New("down")})
	_, err := m.Verdict(t.Context())
	require.ErrorContains(t, err, "down")
}
