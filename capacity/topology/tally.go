package topology

// tally is a number for each domain of a key. Domains that nobody counted in take no memory but a pointer for each page,
// since rules on kubernetes.io/hostname have as many domains as there are nodes, and few pods each.
type tally struct{ pages []*page }

const (
	pageBits = 5
	pageMask = 1<<pageBits - 1
)

type page [1 << pageBits]int32

func (t *tally) at(domain int32) int32 {
	i := int(domain >> pageBits)
	if i >= len(t.pages) || t.pages[i] == nil {
		return 0
	}
	return t.pages[i][domain&pageMask]
}

// add counts n more and returns the new number.
func (t *tally) add(domain, n int32) int32 {
	i := int(domain >> pageBits)
	if i >= len(t.pages) {
		t.pages = append(t.pages, make([]*page, i+1-len(t.pages))...)
	}
	if t.pages[i] == nil {
		t.pages[i] = new(page)
	}
	t.pages[i][domain&pageMask] += n
	return t.pages[i][domain&pageMask]
}

// lows keeps the smallest of many numbers that rise and fall by steps. Zeros are not kept.
type lows struct {
	domains map[int32]int32 // how many have this number
	filled  int             // how many are not zero
	least   int32           // of those
}

func (l *lows) move(from, to int32) {
	if l.domains == nil {
		l.domains = map[int32]int32{}
	}
	if from != 0 {
		l.filled--
		if l.domains[from]--; l.domains[from] == 0 {
			delete(l.domains, from)
		}
	}
	if to != 0 {
		l.filled++
		l.domains[to]++
	}
	switch {
	case l.filled == 0:
		l.least = 0
	case to != 0 && (to < l.least || l.least == 0):
		l.least = to
	case l.domains[l.least] == 0:
		l.least = l.next(l.least)
	}
}

// hold keeps n more times the same number, which is not zero; fewer where n is negative.
func (l *lows) hold(number, n int32) {
	for ; n > 0; n-- {
		l.move(0, number)
	}
	for ; n < 0; n++ {
		l.move(number, 0)
	}
}

// next is the smallest number kept that is larger than one no longer kept: mostly the next, since pods come one by one.
func (l *lows) next(than int32) int32 {
	for step := than + 1; step <= than+int32(len(l.domains)); step++ {
		if l.domains[step] > 0 {
			return step
		}
	}
	least := int32(0)
	for number := range l.domains {
		if least == 0 || number < least {
			least = number
		}
	}
	return least
}
