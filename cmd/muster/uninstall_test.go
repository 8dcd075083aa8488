package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUninstallWantsOneWay(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"none":            {nil, "give one of --keep-nodes"},
		"both":            {[]string{"--keep-nodes", "--drain"}, "give one of --keep-nodes"},
		"a wrong lease":   {[]string{"--drain", "--lease=muster"}, `--lease "muster": use namespace/name`},
		"no API server":   {[]string{"--keep-nodes", "--kubeconfig=none.yaml"}, "none.yaml"},
		"what there isnt": {[]string{"--force"}, "unknown flag: --force"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems bytes.Buffer
			require.Equal(t, 1, run(t.Context(), append([]string{"uninstall"}, c.args...), &out, &problems))
			require.Contains(t, problems.String(), c.says)
		})
	}
}
