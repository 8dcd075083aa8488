package pvesim

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a parameter.
type Kind string

// The kinds.
const (
	Text    Kind = "string"
	Integer Kind = "integer"
	Flag    Kind = "boolean"
)

// Operation is what Muster uses of one operation of the API. Parameters in the path are left out. A name that ends in [n]
// stands for name0, name1 and so on.
type Operation struct {
	Method, Path string
	Parameters   map[string]Kind
	Required     []string
}

var vmSettings = map[string]Kind{"name": Text, "cores": Integer, "sockets": Integer, "memory": Text, "description": Text,
	"tags": Text, "smbios1": Text, "digest": Text, "cpu": Text, "net[n]": Text, "ciuser": Text, "nameserver": Text,
	"delete": Text, "efidisk0": Text, "ide[n]": Text, "sata[n]": Text, "scsi[n]": Text, "searchdomain": Text, "sshkeys": Text, "ipconfig[n]": Text, "balloon": Integer, "machine": Text, "onboot": Flag, "agent": Text,
	"bios": Text, "boot": Text, "numa": Flag, "ostype": Text, "scsihw": Text, "vga": Text, "serial[n]": Text, "startup": Text}

// Operations are facts of the published API description, written down for what Muster uses.
var Operations = []Operation{
	{Method: "GET", Path: "/version"},
	{Method: "GET", Path: "/cluster/resources", Parameters: map[string]Kind{"type": Text}},
	{Method: "GET", Path: "/cluster/nextid", Parameters: map[string]Kind{"vmid": Integer}},
	{Method: "GET", Path: "/access/permissions", Parameters: map[string]Kind{"path": Text}},
	{Method: "GET", Path: "/nodes/{node}/qemu/{vmid}/config"},
	{Method: "PUT", Path: "/nodes/{node}/qemu/{vmid}/config", Parameters: vmSettings},
	{Method: "GET", Path: "/nodes/{node}/qemu/{vmid}/status/current"},
	{Method: "POST", Path: "/nodes/{node}/qemu/{vmid}/status/start", Parameters: map[string]Kind{"timeout": Integer}},
	{Method: "POST", Path: "/nodes/{node}/qemu/{vmid}/status/stop", Parameters: map[string]Kind{"timeout": Integer}},
	{Method: "POST", Path: "/nodes/{node}/qemu/{vmid}/status/shutdown", Parameters: map[string]Kind{"timeout": Integer, "forceStop": Flag}},
	{Method: "PUT", Path: "/nodes/{node}/qemu/{vmid}/resize", Parameters: map[string]Kind{"disk": Text, "size": Text, "digest": Text},
		Required: []string{"disk", "size"}},
	{Method: "POST", Path: "/nodes/{node}/qemu/{vmid}/clone", Required: []string{"newid"}, Parameters: map[string]Kind{
		"newid": Integer, "name": Text, "description": Text, "pool": Text, "full": Flag, "storage": Text, "target": Text}},
	{Method: "DELETE", Path: "/nodes/{node}/qemu/{vmid}", Parameters: map[string]Kind{"purge": Flag,
		"destroy-unreferenced-disks": Flag}},
	{Method: "POST", Path: "/nodes/{node}/qemu", Required: []string{"vmid"}, Parameters: with(vmSettings,
		map[string]Kind{"vmid": Integer, "pool": Text}, "delete", "digest")},
	{Method: "GET", Path: "/nodes/{node}/storage/{storage}/content", Parameters: map[string]Kind{"content": Text}},
	{Method: "POST", Path: "/nodes/{node}/storage/{storage}/upload", Required: []string{"content", "filename"}, Parameters: map[string]Kind{
		"content": Text, "filename": Text, "checksum": Text, "checksum-algorithm": Text, "tmpfilename": Text}},
	{Method: "DELETE", Path: "/nodes/{node}/storage/{storage}/content/{volume}", Parameters: map[string]Kind{"delay": Integer}},
	{Method: "GET", Path: "/nodes/{node}/network", Parameters: map[string]Kind{"type": Text}},
	{Method: "GET", Path: "/nodes/{node}/tasks", Parameters: map[string]Kind{"source": Text, "typefilter": Text, "vmid": Integer}},
	{Method: "GET", Path: "/nodes/{node}/tasks/{upid}/status"},
}

// with is a list of parameters with some more and some less.
func with(these, more map[string]Kind, without ...string) map[string]Kind {
	out := maps.Clone(these)
	maps.Copy(out, more)
	for _, name := range without {
		delete(out, name)
	}
	return out
}

// match finds the operation of a request and what stands in its path.
func match(method, path string) (*Operation, map[string]string) {
	at := strings.Split(path, "/")
	for i := range Operations {
		o := &Operations[i]
		want := strings.Split(o.Path, "/")
		if o.Method != method || len(want) > len(at) || len(want) < len(at) && want[len(want)-1] != "{volume}" {
			continue
		}
		values := map[string]string{}
		ok := true
		for n, w := range want {
			if strings.HasPrefix(w, "{") {
				values[strings.Trim(w, "{}")] = at[n]
			} else if w != at[n] {
				ok = false
			}
		}
		if ok {
			if values["volume"] != "" { // it has a slash in it
				values["volume"] = strings.Join(at[len(want)-1:], "/")
			}
			return o, values
		}
	}
	return nil, nil
}

var numbered = regexp.MustCompile(`[0-9]+$`)

// refuse says what is wrong with parameters, by name, in the words of PVE; empty means nothing.
func (o *Operation) refuse(parameters map[string]string) map[string]string {
	wrong := map[string]string{}
	for name, value := range parameters {
		kind, ok := o.Parameters[name]
		if !ok {
			kind, ok = o.Parameters[numbered.ReplaceAllString(name, "[n]")]
		}
		switch {
		case !ok:
			wrong[name] = "property is not defined in schema and the schema does not allow additional properties"
		case kind == Integer && !integer(value):
			wrong[name] = "type check ('integer') failed - got '" + value + "'"
		case kind == Flag && !slices.Contains([]string{"0", "1"}, value):
			wrong[name] = "type check ('boolean') failed - got '" + value + "'"
		case !fits(name, value):
			wrong[name] = "invalid format - value '" + value + "' does not look right"
		}
	}
	for _, name := range o.Required {
		if _, ok := parameters[name]; !ok {
			wrong[name] = "property is missing and it is not optional"
		}
	}
	return wrong
}

func integer(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// formats of values, by parameter: what PVE was measured to refuse.
var formats = map[string]*regexp.Regexp{
	"name":    regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$`),
	"tags":    regexp.MustCompile(`^([a-zA-Z0-9_][-a-zA-Z0-9_+.]*([;, ]|$))*$`),
	"sshkeys": regexp.MustCompile(`^[-%a-zA-Z0-9_.!~*'()]*$`),
	"size":    regexp.MustCompile(`^\+?\d+(\.\d+)?[KMGT]?$`),
	"smbios1": regexp.MustCompile(`(^|,)uuid=[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`),
}

func fits(name, value string) bool {
	if f := formats[name]; f != nil && !f.MatchString(value) {
		return false
	}
	switch name {
	case "memory":
		n, err := strconv.Atoi(value)
		return err == nil && n >= 16
	case "cores", "sockets":
		n, err := strconv.Atoi(value)
		return err == nil && n >= 1
	}
	return true
}

// tidyTags does to tags what PVE does: lower case, sorted, each once, joined with a semicolon.
func tidyTags(text string) string {
	tags := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ";")
}
