package wire

import "strconv"

// AppendOutput appends a piece of a job's output as the data of an event.
func AppendOutput(dst []byte, output []byte) []byte {
	dst = append(dst, `{"output":`...)
	dst, isText := appendBytes(dst, output)
	if !isText {
		dst = append(dst, `,"output_encoding":"base64"`...)
	}
	return append(dst, '}')
}

// AppendMachineOutput appends a piece of what a command on a machine puts out as the data of an event,
// and how many bytes behind it are not told.
func AppendMachineOutput(dst []byte, machine string, line int, stderr bool, piece []byte, skipped int64) []byte {
	dst = append(dst, `{"machine":`...)
	dst, _ = appendBytes(dst, []byte(machine))
	dst = append(dst, `,"line":`...)
	dst = strconv.AppendInt(dst, int64(line), 10)
	name := `,"stdout":`
	if stderr {
		name = `,"stderr":`
	}
	dst = append(dst, name...)
	dst, isText := appendBytes(dst, piece)
	if !isText {
		dst = append(dst, `,"encoding":"base64"`...)
	}
	if skipped > 0 {
		dst = append(dst, `,"skipped":`...)
		dst = strconv.AppendInt(dst, skipped, 10)
	}
	return append(dst, '}')
}

// AppendEvent appends an event as a stream of Server-Sent Events has it. Data is
// JSON, which has no line ends of its own.
func AppendEvent(dst []byte, id int64, kind string, data []byte) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, "\nevent: "...)
	dst = append(dst, kind...)
	dst = append(dst, "\ndata: "...)
	dst = append(dst, data...)
	return append(dst, "\n\n"...)
}

// KeepAlive is what a stream says when nothing happens, so that no proxy takes
// it for dead.
const KeepAlive = ": still here\n\n"

// EventsType is the media type of a stream of events.
const EventsType = "text/event-stream"

// SetEvents sets the headers of a stream of events.
func SetEvents(h Header, s HeaderOptions) {
	s.set(h)
	set(h, "Content-Type", EventsType)
	set(h, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	set(h, "X-Accel-Buffering", "no")
}
