package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"ql/lang/vm"
)

// EncodeState makes what is stored of a suspended run: the length of its state as JSON,
// that, and the machine's snapshot.
func EncodeState(s State, snapshot []byte) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, 0, len(text)+len(snapshot)+8), uint64(len(text)))
	return append(append(b, text...), snapshot...), nil
}

// DecodeState is the reverse of EncodeState. The error is vm.ErrCorrupt.
func DecodeState(stored []byte) (s State, snapshot []byte, err error) {
	n, size := binary.Uvarint(stored)
	if size <= 0 || n > uint64(len(stored)-size) {
		return State{}, nil, vm.ErrCorrupt
	}
	text, snapshot := stored[size:size+int(n)], stored[size+int(n):]
	if err := json.Unmarshal(text, &s); err != nil {
		return State{}, nil, fmt.Errorf("%w: %w", vm.ErrCorrupt, err)
	}
	return s, snapshot, nil
}
