package replay

// waiters is a heap that knows where each of its elements is.
type waiters struct {
	less func(a, b *waiter) bool
	list []*waiter
}

func (h *waiters) Len() int           { return len(h.list) }
func (h *waiters) Less(i, j int) bool { return h.less(h.list[i], h.list[j]) }
func (h *waiters) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}
func (h *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(h.list)
	h.list = append(h.list, w)
}
func (h *waiters) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
