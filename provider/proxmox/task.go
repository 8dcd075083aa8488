package proxmox

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/muster-sh/muster/provider"
)

// upid names a task: UPID:node:pid:pstart:starttime:type:id:user:
type upid struct {
	text, node, kind string
}

func parseUPID(text string) (upid, error) {
	fields := strings.Split(text, ":")
	if len(fields) < 8 || fields[0] != "UPID" || fields[1] == "" {
		return upid{}, fmt.Errorf("%.60q is no task", text)
	}
	return upid{text: text, node: fields[1], kind: fields[5]}, nil
}

// verdict is how a task stands.
type verdict struct {
	running bool
	// forgotten says that its host does not know it any more: it has ended, and nobody can tell how.
	forgotten bool
	// failure is why it failed; empty when it did not. Warnings are no failure: Proxmox VE counts them as success.
	failure string
}

// judge reads a task's status. A task that stopped without OK or warnings has failed, whatever it says.
func judge(status, exit string) (verdict, error) {
	switch {
	case status == "running":
		return verdict{running: true}, nil
	case status != "stopped":
		return verdict{}, fmt.Errorf("task status %.60q", status)
	case exit == "OK", strings.HasPrefix(exit, "WARNINGS: "):
		return verdict{}, nil
	case exit == "":
		return verdict{failure: "the task ended without saying how"}, nil
	}
	return verdict{failure: oneLine(exit)}, nil
}

// follow asks how a task stands. Its log lives on the host that runs it.
func (c *client) follow(ctx context.Context, id upid) (verdict, error) {
	op := "ask about task " + id.kind + " on host " + id.node
	var s struct {
		UPID       string `json:"upid"`
		Status     string `json:"status"`
		ExitStatus string `json:"exitstatus"`
	}
	err := c.get(ctx, op, "/nodes/"+url.PathEscape(id.node)+"/tasks/"+url.PathEscape(id.text)+"/status", &s)
	if refusesField(err, "upid") {
		return verdict{forgotten: true}, nil
	}
	if err != nil {
		return verdict{}, err
	}
	if s.UPID != id.text {
		return verdict{}, &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("answered for %.60q", s.UPID)}
	}
	v, err := judge(s.Status, s.ExitStatus)
	return v, typed(op, err)
}
