package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsWaitedForIsSaidWhenItTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		end := waitingFor(&out, "Provider home")
		time.Sleep(patience - time.Nanosecond)
		end()
		require.Empty(t, out.String(), "an answer came in time")

		end = waitingFor(&out, "Provider home")
		time.Sleep(14 * time.Second)
		end()
		require.Equal(t, "waiting for Provider home (3s so far)\nwaiting for Provider home (13s so far)\n", out.String())
		time.Sleep(time.Hour)
		require.Equal(t, 2, bytes.Count(out.Bytes(), []byte("\n")), "nothing is said after the end")
	})
}
