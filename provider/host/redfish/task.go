package redfish

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/stmcginnis/gofish/schemas"
)

// task is an operation that a BMC took on to do later. How it ended is a hint for the operator and nothing more: what
// counts is the power that is read.
type task struct {
	at     string
	ended  bool
	failed string // why; empty when it did not
}

// taskOf is where an accepted operation can be followed: by Location, else by what the body calls itself. Some BMCs answer
// 202 and say neither.
func taskOf(resp *http.Response) string {
	if resp.StatusCode != http.StatusAccepted {
		return ""
	}
	at := ""
	if u, err := url.Parse(resp.Header.Get("Location")); err == nil {
		at = u.EscapedPath()
	}
	if at == "" {
		var self struct {
			Path  string `json:"@odata.id"`
			State text   `json:"TaskState"`
		}
		if json.NewDecoder(resp.Body).Decode(&self) == nil && self.State != "" {
			at = self.Path
		}
	}
	if local(at) != nil {
		return ""
	}
	return at
}

// follow looks once how the task of a system's last operation stands, and returns why it failed, if it did.
func (c *call) follow(system string) string {
	t := c.tasks[system]
	if t == nil {
		return ""
	}
	if !t.ended {
		t.ended, t.failed = c.look(t.at)
	}
	return t.failed
}

// look asks a task or a task monitor. A monitor answers 202 until it ends, then what the operation itself would have been
// answered; a task is a resource with a state. One that is gone has ended, and nobody knows how.
func (c *call) look(at string) (ended bool, failed string) {
	resp, err := c.api.Get(at)
	var refused *schemas.Error
	switch status := statusOf(err); {
	case errors.As(err, &refused) && (status == http.StatusNotFound || status == http.StatusGone):
		return true, ""
	case errors.As(err, &refused) && status >= 400 && status < 500 && status != http.StatusUnauthorized && status != http.StatusTooManyRequests:
		return true, fmt.Sprintf("task %s ended with %d: %s", at, status, said(refused))
	case err != nil:
		return false, ""
	}
	defer func() { _ = resp.Body.Close() }()
	var t struct {
		TaskState, TaskStatus text
		Messages              []struct{ Message, MessageID text }
	}
	if resp.StatusCode == http.StatusNoContent {
		return true, ""
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&t) != nil {
		return false, ""
	}
	return judge(at, string(t.TaskState), string(t.TaskStatus), func() string {
		for _, m := range t.Messages {
			if m.Message != "" || m.MessageID != "" {
				return fmt.Sprintf(": %s %s", m.MessageID, m.Message)
			}
		}
		return ""
	})
}

// said is what an error tells beyond that it is one.
func said(e *schemas.Error) string {
	for _, info := range e.ExtendedInfos {
		if info.Message != "" {
			return info.Message
		}
	}
	return e.Message
}

// judge says what the state of a task means (DSP0268, Task: TaskState and TaskStatus).
func judge(at, state, status string, why func() string) (ended bool, failed string) {
	bad := slices.Contains([]string{"Exception", "Killed", "Cancelled", "Interrupted"}, state)
	switch {
	case bad, state == "Completed" && status == "Critical":
		return true, fmt.Sprintf("task %s ended as %s%s", at, state, why())
	case state == "Completed", state == "":
		return true, ""
	}
	return false, ""
}
