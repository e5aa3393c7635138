// Package openapi holds the OpenAPI document of the service's HTTP interface, from which clients are
// made and against which every answer of the tests is checked. What it describes is done by
// packages service and server.
package openapi

import _ "embed"

//go:embed openapi.json
var document []byte

// Document returns it, in JSON.
func Document() []byte { return document }
