package pvesim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Volumes returns what is on storages for images, by host (empty for a shared one), space, and name.
func (c *Cluster) Volumes() map[string][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	return maps.Clone(c.volumes)
}

// fileIn reads a form with a file as pveproxy does: fields come before the file, and a body of unknown length is refused.
func fileIn(r *http.Request, out map[string]string) error {
	if r.ContentLength < 0 {
		return fmt.Errorf("chunked transfer encoding not supported")
	}
	form, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return err // pveproxy wants a file
		}
		content, err := io.ReadAll(io.LimitReader(part, 16<<20))
		if err != nil {
			return err
		}
		if part.FormName() != "filename" {
			out[part.FormName()] = string(content)
			continue
		}
		out["filename"], out["tmpfilename"] = part.FileName(), string(content) // the file itself, in the place of its name
		return nil
	}
}

func (c *Cluster) place(node, storage string) string {
	if c.shared(storage) {
		return " "
	}
	return node + " "
}

// store answers what is about one storage.
func (c *Cluster) store(o *Operation, at, parameters map[string]string) answer {
	i := slices.IndexFunc(c.stores, func(s Storage) bool { return s.Name == at["storage"] })
	if i < 0 {
		return died("storage '%s' does not exist", at["storage"])
	}
	path, here := "/storage/"+at["storage"], c.place(at["node"], at["storage"])
	switch o.Method {
	case http.MethodGet:
		if !c.may(path, "Datastore.Audit") && !c.may(path, "Datastore.AllocateSpace") {
			return denied(path, "Datastore.Audit|Datastore.AllocateSpace")
		}
		list := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(c.volumes)) {
			if volume, ok := strings.CutPrefix(name, here+at["storage"]+":"); ok {
				list = append(list, map[string]any{"volid": at["storage"] + ":" + volume, "content": "iso", "format": "iso", "size": len(c.volumes[name])})
			}
		}
		return ok(list)
	case http.MethodDelete:
		if !c.may(path, "Datastore.Allocate") {
			return denied(path, "Datastore.Allocate")
		}
		volume := at["volume"]
		if !strings.Contains(volume, ":") {
			volume = at["storage"] + ":" + volume
		}
		return ok(c.run(at["node"], "imgdel", volume, func() string {
			delete(c.volumes, here+volume) // one that is not there is a word in the log and no failure
			return "OK"
		}))
	}
	return c.upload(at["node"], c.stores[i], path, here, parameters)
}

func (c *Cluster) upload(node string, s Storage, path, here string, parameters map[string]string) answer {
	refuse := func(field, text string) answer {
		return answer{status: http.StatusBadRequest, message: "Parameter verification failed.", errors: map[string]string{field: text}}
	}
	switch {
	case !c.may(path, "Datastore.AllocateTemplate"):
		return denied(path, "Datastore.AllocateTemplate")
	case !slices.Contains([]string{"iso", "vztmpl", "import"}, parameters["content"]):
		return refuse("content", "value '"+parameters["content"]+"' does not have a value in the enumeration 'iso, vztmpl, import'")
	case parameters["checksum"] == "" != (parameters["checksum-algorithm"] == ""):
		return refuse("checksum", "missing property - 'checksum-algorithm' requires this property")
	case !strings.HasSuffix(strings.ToLower(parameters["filename"]), ".iso"):
		return refuse("filename", "wrong file extension")
	case !slices.Contains(strings.Split(s.Content, ","), "iso"):
		return died("storage '%s' does not support 'iso' content", s.Name)
	}
	file := parameters["tmpfilename"]
	return ok(c.run(node, "imgcopy", "", func() string {
		sum := sha256.Sum256([]byte(file))
		if want := parameters["checksum"]; want != "" && hex.EncodeToString(sum[:]) != strings.ToLower(want) {
			return "checksum mismatch: got '" + hex.EncodeToString(sum[:]) + "' != expect '" + want + "'"
		}
		if len(file) < 17*2048 || file[16*2048+1:16*2048+6] != "CD001" {
			return "not a valid ISO image"
		}
		c.volumes[here+s.Name+":iso/"+parameters["filename"]] = []byte(file) // over what is there
		return "OK"
	}))
}

// drive says why a drive cannot be as a setting wants it; empty means that it can.
func (c *Cluster) drive(vm *VM, value string) string {
	volume, _, _ := strings.Cut(value, ",")
	storage, _, named := strings.Cut(volume, ":")
	if !strings.Contains(value, "media=cdrom") || volume == "none" || !named {
		return ""
	}
	if _, there := c.volumes[c.place(vm.Host, storage)+volume]; !there {
		return "volume '" + volume + "' does not exist"
	}
	return ""
}
