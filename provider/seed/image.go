package seed

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// Label is the volume's name by which cloud-init, Ignition and Talos find it.
const Label = "cidata"

// sector is the size of a block in bytes; the first 16 are the system's.
const sector = 2048

// Where things are, in sectors.
const (
	atPrimary   = 16
	atJoliet    = 17
	atEnd       = 18
	atTables    = 19 // four path tables: primary and Joliet, each in both byte orders
	atRoot      = 23
	atRootAlias = 24
	atFiles     = 25
)

// Image is an ISO 9660 image with these files in its root: names by Rock Ridge, and by Joliet for who reads no Rock Ridge.
// Libraries that write images keep the files in a directory on disk meanwhile, where secrets have no business.
// https://ecma-international.org/publications-and-standards/standards/ecma-119/
func Image(files map[string][]byte) []byte {
	names := slices.Sorted(maps.Keys(files))
	at := make(map[string]int, len(files))
	next := atFiles
	for _, name := range names {
		at[name] = next
		next += max(1, (len(files[name])+sector-1)/sector)
	}
	image := make([]byte, next*sector)
	put := func(sectors int, b []byte) { copy(image[sectors*sector:], b) }
	put(atPrimary, descriptor(1, next, atRoot, atTables, plain))
	put(atJoliet, descriptor(2, next, atRootAlias, atTables+2, wide))
	put(atEnd, append([]byte{255}, "CD001\x01"...))
	for n, root := range []int{atRoot, atRootAlias} {
		put(atTables+2*n, pathTable(root, binary.LittleEndian))
		put(atTables+2*n+1, pathTable(root, binary.BigEndian))
	}
	primary, alias := rootOf(atRoot, true), rootOf(atRootAlias, false)
	for n, name := range names {
		primary = append(primary, record([]byte{'F', byte('0' + n), '.', ';', '1'}, at[name], len(files[name]), 0, rockRidge(name))...)
		alias = append(alias, record(wide(name), at[name], len(files[name]), 0, nil)...)
		put(at[name], files[name])
	}
	put(atRoot, primary)
	put(atRootAlias, alias)
	return image
}

// plain and wide write texts as the two kinds of volumes do: bytes, and UCS-2.
func plain(s string) []byte { return []byte(s) }

func wide(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.BigEndian.AppendUint16(b, u)
	}
	return b
}

// both writes a number in both byte orders.
func both32(n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(n)) //nolint:gosec // sectors and sizes of a small image
	return binary.BigEndian.AppendUint32(b, uint32(n))    //nolint:gosec // see above
}

func both16(n uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, n), n)
}

// descriptor describes a volume (ECMA-119, 8.4 and 8.5). Type 2 is Joliet's, which its escape sequence tells.
func descriptor(kind byte, sectors, root, tables int, text func(string) []byte) []byte {
	d := make([]byte, sector)
	field := func(at, size int, s string) {
		blank := bytes.Repeat(text(" "), size)
		copy(d[at:at+size], blank[:size])
		copy(d[at:at+size], text(s))
	}
	d[0] = kind
	copy(d[1:], "CD001\x01")
	field(8, 32, "")
	field(40, 32, Label)
	copy(d[80:], both32(sectors))
	if kind == 2 {
		copy(d[88:], "%/E")
	}
	copy(d[120:], both16(1))
	copy(d[124:], both16(1))
	copy(d[128:], both16(sector))
	copy(d[132:], both32(10))
	binary.LittleEndian.PutUint32(d[140:], uint32(tables)) //nolint:gosec // a constant
	binary.BigEndian.PutUint32(d[148:], uint32(tables+1))  //nolint:gosec // a constant
	copy(d[156:], record([]byte{0}, root, sector, directory, nil))
	for _, f := range []struct{ at, size int }{{190, 128}, {318, 128}, {446, 128}, {574, 128}, {702, 37}, {739, 37}, {776, 37}} {
		field(f.at, f.size, "")
	}
	for _, date := range []int{813, 830, 847, 864} {
		copy(d[date:], strings.Repeat("0", 16))
	}
	d[881] = 1
	return d
}

// pathTable has the root only.
func pathTable(root int, order binary.AppendByteOrder) []byte {
	b := order.AppendUint32([]byte{1, 0}, uint32(root)) //nolint:gosec // a constant
	return append(order.AppendUint16(b, 1), 0, 0)
}

const directory = 2 // the flag of a directory

// record is an entry of a directory (ECMA-119, 9.1), with what Rock Ridge adds.
func record(name []byte, at, size int, flags byte, system []byte) []byte {
	r := make([]byte, 33, 256)
	copy(r[2:], both32(at))
	copy(r[10:], both32(size))
	r[25] = flags
	copy(r[28:], both16(1))
	r[32] = byte(len(name)) //nolint:gosec // names are short
	r = append(r, name...)
	if len(name)%2 == 0 {
		r = append(r, 0)
	}
	r = append(r, system...)
	if len(r)%2 != 0 {
		r = append(r, 0)
	}
	r[0] = byte(len(r)) //nolint:gosec // names are short
	return r
}

// rootOf begins a directory with itself and its parent, which is itself too. The first says that Rock Ridge is in use.
func rootOf(at int, rock bool) []byte {
	var self, parent []byte
	if rock {
		self = append([]byte("SP\x07\x01\xbe\xef\x00ER\x12\x01\x0a\x00\x00\x01RRIP_1991A"), mode(0o040555)...)
		parent = mode(0o040555)
	}
	return append(record([]byte{0}, at, sector, directory, self), record([]byte{1}, at, sector, directory, parent)...)
}

// rockRidge gives a file its real name, and makes it root's alone.
func rockRidge(name string) []byte {
	nm := append([]byte{'N', 'M', byte(5 + len(name)), 1, 0}, name...) //nolint:gosec // names are short
	return append(mode(0o100400), nm...)
}

func mode(m int) []byte {
	px := []byte{'P', 'X', 36, 1}
	for _, n := range []int{m, 1, 0, 0} { // mode, links, user, group
		px = append(px, both32(n)...)
	}
	return px
}
