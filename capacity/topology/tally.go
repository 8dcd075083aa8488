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
	domains []int32 // how many have the number that is the index
	filled  int     // how many are not zero
	least   int32   // of those
}

func (l *lows) move(from, to int32) {
	if need := int(max(from, to)) + 1; need > len(l.domains) {
		l.domains = append(l.domains, make([]int32, need-len(l.domains))...)
	}
	if from != 0 {
		l.filled--
		l.domains[from]--
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
	default:
		// Mostly the next one has some, since pods come one by one.
		for l.domains[l.least] == 0 {
			l.least++
		}
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
