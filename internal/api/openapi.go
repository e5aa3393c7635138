// Package api holds the OpenAPI document of the service's HTTP interface, from which clients are
// made and against which every answer of the tests is checked. What it describes is done by
// packages service and server.
package api

import _ "embed"

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the document, in JSON.
func OpenAPI() []byte { return openAPI }
