package lifecycle_test

import "github.com/muster-sh/muster/capacity/lifecycle"

func tableRows() []lifecycle.Row { return lifecycle.Table() }
