package gate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/gate"
)

func TestAWordNamesMachineAttemptAndUser(t *testing.T) {
	for value, want := range map[string]gate.Word{
		"101/1 alice":                        {Machine: "101", Attempt: 1, User: "alice"},
		"pve-2/101/12 alice@example.org":     {Machine: "pve-2/101", Attempt: 12, User: "alice@example.org"},
		"rack3-07/2147483647 Alice B. Smith": {Machine: "rack3-07", Attempt: 2147483647, User: "Alice B. Smith"},
		"b/2/1 system:serviceaccount:a:b/c":  {Machine: "b/2", Attempt: 1, User: "system:serviceaccount:a:b/c"},
	} {
		got, err := gate.ParseWord(value)
		require.NoError(t, err, value)
		require.Equal(t, want, got)
		require.Equal(t, value, got.String())
	}
}

func TestAWordThatLeavesAnythingOpenIsNone(t *testing.T) {
	for value, why := range map[string]string{
		"":                                    "use the machine's ID, a slash, the attempt, a space and the user",
		"true":                                "use the machine's ID",
		"101/1":                               "use the machine's ID",
		"101 alice":                           "use the machine's ID",
		"101/1 ":                              "user is empty",
		"101/1  alice":                        "must not begin or end with a space",
		"101/1 alice ":                        "must not begin or end with a space",
		"101/1 alice\n":                       "must not begin or end with a space",
		"101/1 al\x00ice":                     "control characters",
		"/1 alice":                            "machine is empty",
		"101/ alice":                          `attempt ""`,
		"101/0 alice":                         "must be at least 1",
		"101/-1 alice":                        "must be at least 1",
		"101/+1 alice":                        `attempt "+1"`,
		"101/01 alice":                        `attempt "01"`,
		"101/1.0 alice":                       `attempt "1.0"`,
		"101/2147483648 alice":                `attempt "2147483648"`,
		"10\t1/1 alice":                       "has no spaces and no control characters",
		" 101/1 alice":                        "use the machine's ID",
		"101/1 " + strings.Repeat("a", 1_000): "at most 256 bytes",
	} {
		got, err := gate.ParseWord(value)
		require.ErrorContains(t, err, why, "%q", value)
		require.Zero(t, got, "%q", value)
	}
}

func FuzzParseWord(f *testing.F) {
	for _, s := range []string{"101/1 alice", "a/b/3 x y", "/ ", "1/1  ", "101/+1 a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		w, err := gate.ParseWord(value)
		if err != nil {
			require.Zero(t, w)
			return
		}
		require.NoError(t, w.Validate())
		require.Equal(t, value, w.String(), "there is one spelling")
	})
}
