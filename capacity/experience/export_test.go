package experience

// For tests that tell stories of planning and what becomes of it.
const (
	BackoffsKept = backoffsKept
	CircuitsKept = circuitsKept
	MaxCircuits  = maxCircuits
	ProbeEvery   = probeEvery
	VainAfter    = vainAfter
	VainAtMost   = vainAtMost
	VainMachines = vainMachines
)
