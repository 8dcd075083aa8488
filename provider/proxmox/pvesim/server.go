package pvesim

import (
	"crypto/sha1" //nolint:gosec // digests of configurations, as PVE makes them
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// answer is what a request ends with.
type answer struct {
	status  int
	data    any
	message string
	errors  map[string]string
}

func ok(data any) answer { return answer{status: http.StatusOK, data: data} }

func died(format string, args ...any) answer {
	return answer{status: http.StatusInternalServerError, message: fmt.Sprintf(format, args...)}
}

// ServeHTTP answers under /api2/json.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, under := strings.CutPrefix(r.URL.Path, "/api2/json")
	if !under {
		http.NotFound(w, r)
		return
	}
	parameters, err := parametersOf(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.requests = append(c.requests, r.Method+" "+path)
	if r.ContentLength < 0 { // as pveproxy does
		write(w, answer{status: http.StatusNotImplemented, message: "chunked transfer encoding not supported"})
		return
	}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		z := &zipped{ResponseWriter: w}
		defer z.flush()
		w = z
	}
	if !c.authentic(r.Header.Get("Authorization")) {
		w.WriteHeader(http.StatusUnauthorized) // without a body, as pveproxy does
		return
	}
	if err != nil {
		write(w, answer{status: http.StatusBadRequest, message: err.Error()})
		return
	}
	f := c.fault(r.Method, path)
	if f != nil && f.Status != 0 && !f.Done {
		refused := answer{status: f.Status, message: f.Message}
		if f.Field != "" {
			refused.errors = map[string]string{f.Field: f.Message}
		}
		write(w, refused)
		return
	}
	known := len(c.order)
	a := c.route(r.Method, path, parameters)
	if f != nil && f.Status == 0 && len(c.order) > known {
		t, message := c.order[len(c.order)-1], f.Message
		made := map[string]string{"qmclone": parameters["newid"], "qmcreate": parameters["vmid"]}[t.kind]
		t.end = func() string {
			if id, err := strconv.Atoi(made); err == nil {
				delete(c.vms, id) // what fails cleans up
			}
			return message
		}
	}
	if f != nil && f.Status != 0 {
		a = answer{status: f.Status, message: f.Message}
	}
	write(w, a)
}

func write(w http.ResponseWriter, a answer) {
	if a.status > 590 { // pveproxy has nobody to ask, and no body
		w.WriteHeader(a.status)
		return
	}
	body := map[string]any{"data": a.data}
	if a.message != "" {
		body["message"] = a.message + "\n"
	}
	if a.errors != nil {
		body["errors"] = a.errors
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	if a.status >= 400 {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(body)
}

// parametersOf reads the query, a form or a JSON object into texts.
func parametersOf(r *http.Request) (map[string]string, error) {
	out := map[string]string{}
	for name, values := range r.URL.Query() {
		out[name] = values[len(values)-1]
	}
	if r.Body == nil || r.Method == http.MethodGet || r.Method == http.MethodDelete {
		return out, nil
	}
	kind := r.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "multipart/form-data") {
		return out, fileIn(r, out)
	}
	if !strings.HasPrefix(kind, "application/json") {
		return out, nil
	}
	var body map[string]any
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 512<<10))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	for name, value := range body {
		switch v := value.(type) {
		case bool:
			out[name] = map[bool]string{true: "1", false: "0"}[v]
		default:
			out[name] = fmt.Sprint(v)
		}
	}
	return out, nil
}

func (c *Cluster) authentic(header string) bool {
	text, isToken := strings.CutPrefix(header, "PVEAPIToken=")
	id, secret, whole := strings.Cut(text, "=")
	return isToken && whole && c.tokens[id] == secret && secret != ""
}

func (c *Cluster) may(path, permission string) bool {
	for at := path; ; {
		if held, known := c.rights[at]; known {
			return held[permission] == 1
		}
		if at == "/" {
			return false
		}
		if i := strings.LastIndex(at, "/"); i > 0 {
			at = at[:i]
		} else {
			at = "/"
		}
	}
}

// mayVM also looks at the pool of a guest.
func (c *Cluster) mayVM(vm *VM, permission string) bool {
	return c.may(fmt.Sprintf("/vms/%d", vm.ID), permission) || vm.Pool != "" && c.may("/pool/"+vm.Pool, permission)
}

func denied(path, permission string) answer {
	return answer{status: http.StatusForbidden, message: fmt.Sprintf("Permission check failed (%s, %s)", path, permission)}
}

func (c *Cluster) route(method, path string, parameters map[string]string) answer {
	o, at := match(method, path)
	if o == nil {
		return answer{status: http.StatusNotImplemented, message: fmt.Sprintf("Method '%s %s' not implemented", method, path)}
	}
	if wrong := o.refuse(parameters); len(wrong) > 0 {
		return answer{status: http.StatusBadRequest, message: "Parameter verification failed.", errors: wrong}
	}
	if name := at["node"]; name != "" {
		h := c.host(name)
		if h == nil {
			return died("hostname lookup '%s' failed - failed to get address info for: %s: Name or service not known", name, name)
		}
		if !h.Online {
			return answer{status: 595}
		}
	}
	switch o.Path {
	case "/version":
		return ok(map[string]any{"version": "9.2.4", "release": "9.2", "repoid": "5e5ae681198514d4"})
	case "/cluster/resources":
		return ok(c.resources())
	case "/cluster/nextid":
		return c.nextID(parameters["vmid"])
	case "/access/permissions":
		return ok(c.rights)
	case "/nodes/{node}/network":
		return ok(c.bridges(at["node"]))
	case "/nodes/{node}/tasks":
		var active []map[string]any
		for _, t := range c.order {
			if t.host == at["node"] && (parameters["typefilter"] == "" || t.kind == parameters["typefilter"]) &&
				(parameters["vmid"] == "" || t.id == parameters["vmid"]) {
				active = append(active, map[string]any{"upid": t.upid, "node": t.host, "type": t.kind, "id": t.id, "status": "RUNNING"})
			}
		}
		return ok(active)
	case "/nodes/{node}/tasks/{upid}/status":
		return c.taskStatus(at["upid"])
	}
	switch {
	case o.Path == "/nodes/{node}/qemu":
		return c.create(at["node"], parameters)
	case at["storage"] != "":
		return c.store(o, at, parameters)
	}
	return c.guest(o, at, parameters)
}

// nextID asserts that a number is free. Everybody is told, whatever they may see.
func (c *Cluster) nextID(text string) answer {
	id, err := strconv.Atoi(text)
	if err != nil {
		return answer{status: http.StatusNotImplemented, message: "the next number is not asked for: it would not be reserved"}
	}
	if c.vms[id] != nil {
		return answer{status: http.StatusBadRequest, message: "Parameter verification failed.",
			errors: map[string]string{"vmid": fmt.Sprintf("VM %d already exists", id)}}
	}
	return ok(text)
}

// bridges are those of a host that the token may use; of others nothing is told.
func (c *Cluster) bridges(node string) []map[string]any {
	list := []map[string]any{}
	for _, name := range c.host(node).Bridges {
		if path := "/sdn/zones/localnetwork/" + name; c.may(path, "SDN.Use") || c.may(path, "SDN.Audit") {
			list = append(list, map[string]any{"iface": name, "type": "bridge", "active": 1})
		}
	}
	return list
}

func (c *Cluster) taskStatus(upid string) answer {
	t := c.tasks[upid]
	if t == nil {
		return answer{status: http.StatusBadRequest, message: "Parameter verification failed.", errors: map[string]string{"upid": "no such task"}}
	}
	s := map[string]any{"upid": t.upid, "node": t.host, "type": t.kind, "id": t.id, "status": "running", "pid": 1, "pstart": 1,
		"starttime": 1, "user": "muster@pve", "tokenid": "m"}
	if t.exit != "" {
		s["status"], s["exitstatus"] = "stopped", t.exit
	}
	return ok(s)
}

func (c *Cluster) resources() []map[string]any {
	var rows []map[string]any
	for _, h := range c.hosts {
		row := map[string]any{"type": "node", "id": "node/" + h.Name, "node": h.Name, "status": map[bool]string{true: "online", false: "offline"}[h.Online]}
		if c.may("/nodes/"+h.Name, "Sys.Audit") && h.Online {
			row["maxcpu"], row["maxmem"], row["mem"], row["cpu"] = h.CPUs, h.Memory, h.Memory/20, 0.02
		}
		rows = append(rows, row)
	}
	for _, s := range c.stores {
		if !c.may("/storage/"+s.Name, "Datastore.Audit") {
			continue // left out in silence
		}
		for _, h := range c.hosts {
			rows = append(rows, map[string]any{"type": "storage", "id": "storage/" + h.Name + "/" + s.Name, "storage": s.Name, "node": h.Name,
				"shared": map[bool]int{true: 1}[s.Shared], "status": "available", "plugintype": "dir", "content": s.Content,
				"disk": 1 << 30, "maxdisk": int64(1) << 40})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.vms)) {
		if vm := c.vms[id]; !vm.Hidden && c.mayVM(vm, "VM.Audit") {
			rows = append(rows, c.row(vm))
		}
	}
	return append(rows, map[string]any{"type": "sdn", "id": "sdn/x", "node": "x"})
}

func (c *Cluster) row(vm *VM) map[string]any {
	row := map[string]any{"type": "qemu", "id": fmt.Sprintf("qemu/%d", vm.ID), "vmid": vm.ID, "node": vm.Host, "status": "unknown",
		"template": map[bool]int{true: 1}[vm.Template]}
	for _, name := range []string{"tags", "lock"} {
		if vm.Config[name] != "" {
			row[name] = vm.Config[name]
		}
	}
	if vm.Pool != "" {
		row["pool"] = vm.Pool
	}
	if c.Now().Sub(vm.seen) < pvestatd {
		return row
	}
	cores, _ := strconv.Atoi(vm.Config["cores"])
	memory, _ := strconv.ParseInt(vm.Config["memory"], 10, 64)
	row["status"], row["name"], row["maxcpu"], row["maxmem"] = "stopped", vm.Config["name"], max(1, cores), memory<<20
	row["mem"], row["cpu"], row["uptime"], row["maxdisk"] = 0, 0, 0, int64(10)<<30
	if vm.Running {
		row["status"] = "running"
	}
	return row
}

func digest(config map[string]string) string {
	b, _ := json.Marshal(config) // a map of texts: sorted, and it cannot fail
	sum := sha1.Sum(b)           //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}
