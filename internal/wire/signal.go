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
	l = l.withDefaults()
	s := new(Signal)
	var shape Shape
	top, r := document(body, &l, &shape)
	if r == nil {
		r = s.decode(top)
	}
	if r != nil {
		return nil, r.withoutPlanLimit()
	}
	return s, nil
}

func (s *Signal) decode(top node) *Refusal {
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "name":
			s.Name, r = optionalText("name", value)
		case "data":
			s.Data = string(value)
		case "id":
			s.ID, r = optionalText("id", value)
		default:
			r = unknown(bodyField, name, signalFields)
		}
		if r != nil {
			return r
		}
	}
	if s.Name == "" {
		return invalid("name", `is missing: the name that the job waits for fits, such as "paid"`)
	}
	return nil
}
