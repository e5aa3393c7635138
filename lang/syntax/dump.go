package syntax

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"ql/lang/source"
)

// Dump prints a tree without its positions and comments, so that two trees can
// be compared: (Emit Args:[(Text Quote:" Parts:[(Plain:"a")])]). Fields with
// their zero value are left out.
func Dump(n Node) string {
	var d dumper
	d.value(reflect.ValueOf(n))
	return d.String()
}

type dumper struct{ strings.Builder }

var (
	posType  = reflect.TypeFor[source.Pos]()
	spanType = reflect.TypeFor[Span]()
	fileType = reflect.TypeFor[*source.File]()
	opType   = reflect.TypeFor[Op]()
)

func (d *dumper) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			d.WriteString("nil")
			return
		}
		d.value(v.Elem())
	case reflect.Struct:
		d.node(v)
	case reflect.Slice:
		d.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				d.WriteByte(' ')
			}
			d.value(v.Index(i))
		}
		d.WriteByte(']')
	case reflect.String:
		d.WriteString(strconv.Quote(v.String()))
	default:
		fmt.Fprint(d, v.Interface())
	}
}

func (d *dumper) node(v reflect.Value) {
	t := v.Type()
	d.WriteString("(" + t.Name())
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == posType || f.Type == spanType || f.Type == fileType || f.Name == "Comments" {
			continue
		}
		if v.Field(i).IsZero() && f.Type != opType { // the first operator is no less one
			continue
		}
		d.WriteString(" " + f.Name + ":")
		d.value(v.Field(i))
	}
	d.WriteByte(')')
}
