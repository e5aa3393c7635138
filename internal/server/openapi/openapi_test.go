package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is one of the document, with the name that complaints call it by.
type schema struct {
	at   string
	keys map[string]any
}

// TestGenerators holds the document to what generators of clients need besides its being OpenAPI.
// Each rule is there because a generator failed by it, or made types that nobody can use:
// oapi-codegen (Go), openapi-typescript (TypeScript), and the rules of Spectral about arrays.
func TestGenerators(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(Document(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, complaint := range complaints(doc) {
		t.Error(complaint)
	}
}

// TestComplaints checks each rule by a document that breaks it.
func TestComplaints(t *testing.T) {
	const operation = `"paths":{"/a":{"get":{"operationId":"a"}}}`
	for name, test := range map[string]struct{ doc, want string }{
		"a good one": {
			`{"paths":{"/{id}":{"get":{"operationId":"a","parameters":[{"name":"id","schema":{"type":"string","format":"uuid"}}]}}}, "components":{"schemas":{
				"A":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","const":"a"}}},
				"B":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","enum":["b"]}}},
				"U":{"oneOf":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/B"}],
					"discriminator":{"propertyName":"kind","mapping":{"a":"#/components/schemas/A","b":"#/components/schemas/B"}}}}}}`, "",
		},
		"a list of what":          {`{"components":{"schemas":{"A":{"type":"array"}}}}`, "has no items"},
		"a map of what":           {`{"components":{"schemas":{"A":{"type":"object"}}}}`, "additionalProperties"},
		"a map of what, or null":  {`{"components":{"schemas":{"A":{"type":["object","null"]}}}}`, "additionalProperties"},
		"a const":                 {`{"components":{"schemas":{"A":{"const":"a"}}}}`, "has no type"},
		"many types":              {`{"components":{"schemas":{"A":{"type":["string","integer"]}}}}`, "of several types"},
		"a default":               {`{"components":{"schemas":{"A":{"type":"object","properties":{"a":{"type":"string","default":"b"}}}}}}`, "has a default"},
		"a default of a named":    {`{"components":{"schemas":{"A":{"type":"string","default":"b"}}}}`, "has a default"},
		"get beside any":          {`{"components":{"schemas":{"A":{"type":"object","properties":{"get":{"type":"string"}},"additionalProperties":true}}}}`, "x-go-name"},
		"texts beside another":    {`{"components":{"schemas":{"A":{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"}}}}}`, "has no type of its own"},
		"an id":                   {`{"components":{"schemas":{"A":{"type":"object","properties":{"job_id":{"type":"string"}}}}}}`, "uuid"},
		"an id in an address":     {`{"paths":{"/{id}":{"get":{"operationId":"a","parameters":[{"name":"id","schema":{"type":"string"}}]}}}}`, "uuid"},
		"a name of two":           {`{"paths":{"/a":{"get":{"operationId":"a"},"put":{"operationId":"a"}}}}`, "another operation"},
		"a name with a space":     {`{"paths":{"/a":{"get":{"operationId":"a b"}}}}`, "is no name"},
		"alternatives with no id": {`{` + operation + `,"components":{"schemas":{"U":{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"string"}]}}}}`, "names its objects"},
		"no discriminator": {
			`{"components":{"schemas":{
				"A":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","const":"a"}}},
				"B":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","const":"b"}}},
				"U":{"oneOf":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/B"}]}}}}`, "has no discriminator",
		},
		"half a discriminator": {
			`{"components":{"schemas":{
				"A":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","const":"a"}}},
				"B":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","enum":["b","c"]}}},
				"U":{"oneOf":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/B"}],
					"discriminator":{"propertyName":"kind","mapping":{"a":"#/components/schemas/A","b":"#/components/schemas/B"}}}}}}`, "maps",
		},
		"what may be both": {
			`{"components":{"schemas":{
				"A":{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"string"}}},
				"B":{"type":"object","required":["b"],"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"string"}}},
				"U":{"oneOf":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/B"}]}}}}`, "may be both",
		},
		"what is open": {
			`{"components":{"schemas":{
				"A":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},
				"B":{"type":"object","required":["b"],"properties":{"b":{"type":"string"}}},
				"U":{"oneOf":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/B"}]}}}}`, "may be both",
		},
	} {
		var doc map[string]any
		if err := json.Unmarshal([]byte(test.doc), &doc); err != nil {
			t.Fatal(name, err)
		}
		got := complaints(doc)
		if test.want == "" && len(got) != 0 || test.want != "" && !strings.Contains(strings.Join(got, "\n"), test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func complaints(doc map[string]any) []string {
	var found []string
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	schemas := at(doc, "components", "schemas")
	seen := map[string]string{}
	walk("", doc, func(place string, v map[string]any) {
		if id, ok := v["operationId"].(string); ok {
			if !isName.MatchString(id) {
				complain("%s: %q is no name of a method", place, id)
			}
			if other, ok := seen[id]; ok {
				complain("%s: another operation is called %s: %s", place, id, other)
			}
			seen[id] = place
		}
		if name, ok := v["name"].(string); ok && isID(name) {
			if s, ok := v["schema"].(map[string]any); ok && !isUUID(s, schemas) && !isNoUUID(place) {
				complain("%s: the parameter %s is no uuid", place, name)
			}
		}
	})
	for s := range eachSchema(doc) {
		types := typesOf(s.keys)
		if slices.Contains(types, "array") && s.keys["items"] == nil {
			complain("%s has no items", s.at)
		}
		properties, hasProperties := s.keys["properties"].(map[string]any)
		more, hasMore := s.keys["additionalProperties"]
		if slices.Contains(types, "object") && !hasProperties && !hasMore {
			complain("%s has neither properties nor additionalProperties: openapi-typescript lets nothing into it", s.at)
		}
		_, hasConst := s.keys["const"]
		_, hasEnum := s.keys["enum"]
		if (hasConst || hasEnum) && len(types) == 0 {
			complain("%s has no type beside its values", s.at)
		}
		if len(slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })) > 1 {
			complain("%s is of several types, which oapi-codegen has no type for", s.at)
		}
		if _, ok := s.keys["default"]; ok && !strings.Contains(s.at, "/parameters/") {
			complain("%s has a default, by which openapi-typescript takes it for required: the description says it", s.at)
		}
		if _, ok := more.(map[string]any); ok && hasProperties {
			complain("%s: what it has besides its properties has no type of its own in TypeScript, where all would be of it", s.at)
		}
		for name, p := range properties {
			p, _ := p.(map[string]any)
			if hasMore && more != false && (name == "get" || name == "set") && p["x-go-name"] == nil {
				complain("%s/properties/%s clashes with a method that oapi-codegen makes: give it an x-go-name", s.at, name)
			}
			if isID(name) && !isUUID(p, schemas) && !isNoUUID(s.at+"/properties/"+name) {
				complain("%s/properties/%s is no uuid", s.at, name)
			}
		}
		found = append(found, complaintsOfUnion(s, schemas)...)
	}
	return found
}

// complaintsOfUnion checks that a client can tell which alternative it has: by a property that all
// of them have, which is then the discriminator, or by what one requires and the others refuse.
func complaintsOfUnion(s schema, schemas map[string]any) []string {
	alternatives, _ := s.keys["oneOf"].([]any)
	var names []string
	var found []string
	for _, a := range alternatives {
		a, _ := a.(map[string]any)
		if ref, ok := a["$ref"].(string); ok {
			names = append(names, ref)
		} else if a["properties"] != nil || a["required"] != nil || a["oneOf"] != nil {
			found = append(found, s.at+": oneOf names its objects by $ref, or generators number them")
		}
	}
	values := map[string]map[string]string{} // by property, value and alternative
	for _, name := range names {
		object := resolve(schemas, name)
		for property, p := range at(object, "properties") {
			if p, ok := p.(map[string]any); ok && requires(object, property) {
				for _, v := range constants(p) {
					if values[property] == nil {
						values[property] = map[string]string{}
					}
					values[property][v] = name
				}
			}
		}
	}
	maps.DeleteFunc(values, func(_ string, by map[string]string) bool {
		return len(slices.Compact(slices.Sorted(maps.Values(by)))) < len(names)
	})
	discriminator := at(s.keys, "discriminator")
	switch property, _ := discriminator["propertyName"].(string); {
	case len(names) < 2:
	case len(values) > 0 && discriminator == nil:
		found = append(found, fmt.Sprintf("%s has no discriminator, though %v tell its alternatives apart", s.at, slices.Sorted(maps.Keys(values))))
	case discriminator != nil:
		mapping := map[string]string{}
		for v, name := range at(discriminator, "mapping") {
			mapping[v], _ = name.(string)
		}
		if !maps.Equal(mapping, values[property]) {
			found = append(found, fmt.Sprintf("%s maps %v, and its alternatives have %v", s.at, mapping, values[property]))
		}
	default:
		for i, a := range names {
			for _, b := range names[i+1:] {
				one, other := resolve(schemas, a), resolve(schemas, b)
				if !isApart(one, other) && !isApart(other, one) {
					found = append(found, fmt.Sprintf("%s: a value may be both %s and %s", s.at, a, b))
				}
			}
		}
	}
	return found
}

// isApart tells whether a requires what b refuses.
func isApart(a, b map[string]any) bool {
	if b["additionalProperties"] != false {
		return false
	}
	for property := range at(a, "properties") {
		if _, ok := at(b, "properties")[property]; requires(a, property) && !ok {
			return true
		}
	}
	return false
}

func requires(object map[string]any, property string) bool {
	required, _ := object["required"].([]any)
	return slices.Contains(required, any(property))
}

func constants(p map[string]any) []string {
	values, _ := p["enum"].([]any)
	if c, ok := p["const"]; ok {
		values = []any{c}
	}
	var texts []string
	for _, v := range values {
		if v, ok := v.(string); ok {
			texts = append(texts, v)
		}
	}
	return texts
}

var isName = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

func isID(name string) bool { return name == "id" || strings.HasSuffix(name, "_id") }

// noUUIDs are what is called an id and is none of a job, a prompt or a delivery.
var noUUIDs = []string{
	"/components/schemas/Shares",               // of a link: how the hash of its token begins
	"/components/schemas/Revoked",              //
	"/components/schemas/CreatedShare",         //
	"/paths/~1v1~1shares~1{id}",                //
	"/components/schemas/Error/proper",         // of an entry in the log
	"/components/schemas/Mail",                 // of a mail: 32 hexadecimal digits
	"/paths/~1v1~1mails~1{id}",                 //
	"/components/schemas/Webhook",              // of a message: msg_ and a uuid
	"/paths/~1v1~1webhooks~1{id}",              //
	"/components/schemas/Domain",               // of a domain: how the hash of its name begins
	"/paths/~1v1~1domains~1{id}",               //
	"/components/schemas/SQLResults",           // the number of a row
	"/paths/~1v1~1sites~1main~1content",        // a hash
	"/components/schemas/Signal/properties/id", // of who tells it, such as evt_17
	"/components/schemas/AdminInvitations",     // the number of an invitation
	"/paths/~1v1~1admin~1invitations~1{id}",    //
}

func isNoUUID(place string) bool {
	return slices.ContainsFunc(noUUIDs, func(p string) bool { return strings.HasPrefix(place, p) })
}

func isUUID(s, schemas map[string]any) bool {
	if ref, ok := s["$ref"].(string); ok {
		s = resolve(schemas, ref)
	}
	return s["format"] == "uuid"
}

func typesOf(s map[string]any) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var types []string
		for _, t := range t {
			types = append(types, t.(string))
		}
		return types
	}
	return nil
}

func resolve(schemas map[string]any, ref string) map[string]any {
	s, _ := schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
	return s
}

// at returns what is at a path of names; nil where there is nothing.
func at(v map[string]any, names ...string) map[string]any {
	for _, name := range names {
		v, _ = v[name].(map[string]any)
	}
	return v
}

// walk calls f for every object of a document, with its JSON pointer, in the order of names.
func walk(place string, v any, f func(string, map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(place, v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(place+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), v[name], f)
		}
	case []any:
		for i, v := range v {
			walk(fmt.Sprintf("%s/%d", place, i), v, f)
		}
	}
}

// eachSchema goes through the schemas of a document, however deep, and through nothing that only
// looks like one: properties may have any name, and examples any content.
func eachSchema(doc map[string]any) func(func(schema) bool) {
	var into func(place string, v any, yield func(schema) bool) bool
	into = func(place string, v any, yield func(schema) bool) bool {
		keys, ok := v.(map[string]any)
		if !ok {
			return true
		}
		if !yield(schema{place, keys}) {
			return false
		}
		for _, name := range []string{"items", "additionalProperties", "not"} {
			if !into(place+"/"+name, keys[name], yield) {
				return false
			}
		}
		for _, name := range []string{"oneOf", "anyOf", "allOf"} {
			list, _ := keys[name].([]any)
			for i, v := range list {
				if !into(fmt.Sprintf("%s/%s/%d", place, name, i), v, yield) {
					return false
				}
			}
		}
		for _, name := range []string{"properties", "patternProperties"} {
			for _, property := range slices.Sorted(maps.Keys(at(keys, name))) {
				if !into(place+"/"+name+"/"+property, at(keys, name)[property], yield) {
					return false
				}
			}
		}
		return true
	}
	return func(yield func(schema) bool) {
		goesOn := true
		each := func(place string, v any) {
			goesOn = goesOn && into(place, v, yield)
		}
		named := at(doc, "components", "schemas")
		for _, name := range slices.Sorted(maps.Keys(named)) {
			each("/components/schemas/"+name, named[name])
		}
		walk("", doc, func(place string, v map[string]any) {
			if s, ok := v["schema"]; ok && !strings.HasPrefix(place, "/components/schemas/") {
				each(place+"/schema", s)
			}
		})
	}
}
