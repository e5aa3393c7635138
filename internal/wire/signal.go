package wire

// Signal is what a program tells a job.
type Signal struct {
	Name string
	Data string // JSON; "" for none
	ID   string // the same for a repeat; "" for none
}

var signalFields = []string{"name", "data", "id"}

// DecodeSignal reads the body of POST /v1/signals/{token}. The error is a *Refusal.
func DecodeSignal(body []byte, l Limits) (*Signal, error) {
	s := new(Signal)
	err := decodeFields(body, l, signalFields, func(name string, value node) (r *Refusal) {
		switch name {
		case "name":
			s.Name, r = optionalText(name, value)
		case "data":
			s.Data = string(value)
		case "id":
			s.ID, r = optionalText(name, value)
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case s.Name == "":
		return nil, invalid("name", `is missing: the name that the job waits for fits, such as "paid"`)
	}
	return s, nil
}
