package redfishsim

import (
	"net/http"
	"strings"
)

const (
	taskPath    = "/redfish/v1/TaskService/Tasks/1"
	monitorPath = "/redfish/v1/TaskService/TaskMonitors/1"
)

// accepted answers an operation that will be carried out later.
func (b *BMC) accepted(w http.ResponseWriter, r *http.Request) {
	body := map[string]any{}
	switch b.TaskKind {
	case TaskResource, TaskGone:
		w.Header().Set("Location", taskPath)
		body = b.task("Running", "OK")
	case TaskMonitor:
		w.Header().Set("Location", monitorPath)
	case TaskAbsolute:
		w.Header().Set("Location", "https://"+r.Host+taskPath)
	case TaskInBody:
		body = b.task("New", "OK")
	}
	answer(w, http.StatusAccepted, body)
}

func (b *BMC) task(state, status string) map[string]any {
	t := map[string]any{"@odata.id": taskPath, "@odata.type": "#Task.v1_4_3.Task", "Id": "1", "TaskState": state, "TaskStatus": status}
	if status == "Critical" {
		t["Messages"] = []any{map[string]any{"MessageId": "Base.1.5.InternalError", "Message": "the power supply does not answer"}}
	}
	return t
}

// tasks answers who follows an operation; it goes on until the power has changed.
func (b *BMC) tasks(w http.ResponseWriter, path string) bool {
	running := b.on != b.to && b.Now().Before(b.at)
	switch {
	case path == taskPath && b.TaskKind == TaskGone:
		return false
	case path == taskPath && running:
		answer(w, http.StatusOK, b.task("Running", "OK"))
	case path == taskPath && b.TaskFails:
		answer(w, http.StatusOK, b.task("Exception", "Critical"))
	case path == taskPath:
		answer(w, http.StatusOK, b.task("Completed", "OK"))
	case path == monitorPath && running:
		answer(w, http.StatusAccepted, map[string]any{})
	case path == monitorPath && b.TaskFails:
		fail(w, http.StatusBadRequest, "Base.1.5.InternalError", "the power supply does not answer")
	case path == monitorPath:
		w.WriteHeader(http.StatusNoContent)
	default:
		return false
	}
	return true
}

// told and wanted are the ETag of the system as it is sent, and as If-Match has to have it.
func (b *BMC) told() string {
	if b.TagKind == TagGzip {
		return `"` + b.tag() + `-gzip"`
	}
	return `W/"` + b.tag() + `"`
}

func (b *BMC) wanted() string {
	if b.TagKind == TagWeak {
		return b.told()
	}
	return `"` + b.tag() + `"`
}

func (b *BMC) tag() string { return "boot-" + strings.ToLower(b.boot["BootSourceOverrideTarget"]) }
