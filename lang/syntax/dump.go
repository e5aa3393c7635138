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

// says tells whether a field is more than a place or a comment.
func says(f *reflect.StructField) bool {
	return f.Type != posType && f.Type != spanType && f.Type != fileType && f.Name != "Comments"
}

func (d *dumper) node(v reflect.Value) {
	t := v.Type()
	d.WriteString("(" + t.Name())
	for i := range t.NumField() {
		f := t.Field(i)
		if !says(&f) {
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

// Same says whether two trees are the same but for places and comments, as Dump prints them.
func Same(a, b Node) bool { return sameValue(reflect.ValueOf(a), reflect.ValueOf(b)) }

func sameValue(a, b reflect.Value) bool {
	for (a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface) && a.Kind() == b.Kind() && !a.IsNil() && !b.IsNil() {
		a, b = a.Elem(), b.Elem()
	}
	if a.Kind() != b.Kind() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return a.IsNil() == b.IsNil()
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); says(&f) && !sameValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
