package manifest

// ReadShape reads the shape of a load from a file; "-" is standard input. The error is of type Errors where the content is at
// fault. A lenient reader leaves out what is said of workloads that the load has not, and counts them.
func ReadShape(path string, load *Load, lenient bool) (*Shape, int, error) {
	sources, err := open([]string{path}, maxShape)
	if err != nil {
		return nil, 0, err
	}
	return readShape(sources, load, lenient)
}

func readShape(sources []source, load *Load, lenient bool) (*Shape, int, error) {
	var shape *Shape
	var errs Errors
	skipped := 0
	for _, s := range sources {
		objects, problems := s.objects()
		errs = append(errs, problems...)
		for _, o := range objects {
			switch {
			case o.groupKind() != shapeKind+".muster.sh" || o.apiVersion != shapeVersion:
				errs = append(errs, o.problem("kind", "Unsupported value: %q of %s: use kind %s of %s", o.kind, o.apiVersion, shapeKind, shapeVersion))
			case shape != nil:
				errs = append(errs, o.problem("", "a second %s: give one", shapeKind))
			default:
				read, problems := decode[Shape](o)
				errs = append(errs, problems...)
				if len(problems) == 0 {
					c := shapeCheck{object: o, shape: read, load: load, lenient: lenient}
					errs = append(errs, c.check()...)
					shape, skipped = read, c.skipped
				}
			}
		}
	}
	if err := errs.orNil(sources); err != nil {
		return nil, 0, err
	}
	if shape == nil {
		return nil, 0, Errors{{File: sources[0].file, Problem: "no " + shapeKind + " in it"}}
	}
	return shape, skipped, nil
}
