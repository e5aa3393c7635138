package api

import _ "embed"

//go:embed openapi.json
var description []byte

// Description returns the OpenAPI document of the interface.
func Description() []byte { return description }
