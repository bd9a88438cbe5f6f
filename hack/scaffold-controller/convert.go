package main

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// convert copies an apply configuration to the corresponding typed object. It is many times
// cheaper than a conversion through JSON, whose cost would distort the comparison.
func convert(to, from any) (err error) {
	defer func() {
		// reflect panics for types that do not match.
		if problem := recover(); problem != nil {
			err = fmt.Errorf("converting %T to %T: %v", from, to, problem)
		}
	}()
	assign(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
	return nil
}

func assign(to, from reflect.Value) {
	switch {
	case from.Type() == to.Type():
		to.Set(from)
	case from.Kind() == reflect.Pointer:
		if from.IsNil() {
			return
		}
		if to.Kind() == reflect.Pointer {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		assign(to, from.Elem())
	case from.Kind() == reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			assign(to.Index(i), from.Index(i))
		}
	case from.Kind() == reflect.Struct:
		for i, index := range fieldsOf(to.Type(), from.Type()) {
			if field := from.Field(i); !field.IsZero() {
				assign(to.Field(index), field)
			}
		}
	case from.Kind() == reflect.Map:
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next(); {
			value := reflect.New(to.Type().Elem()).Elem()
			assign(value, entries.Value())
			to.SetMapIndex(entries.Key().Convert(to.Type().Key()), value)
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}

// pair is a pair of struct types, and pairs maps the fields of one to the other's.
type pair struct{ to, from reflect.Type }

var pairs sync.Map

// fieldsOf returns, for each field of from, the index of the field of to.
func fieldsOf(to, from reflect.Type) []int {
	if known, ok := pairs.Load(pair{to, from}); ok {
		return known.([]int)
	}
	indexes := make([]int, from.NumField())
	for i := range indexes {
		// An embedded field has the name of its type.
		name := strings.TrimSuffix(from.Field(i).Name, "ApplyConfiguration")
		field, found := to.FieldByName(name)
		if !found || len(field.Index) != 1 {
			panic(fmt.Sprintf("%s has no field %s", to, name))
		}
		indexes[i] = field.Index[0]
	}
	pairs.Store(pair{to, from}, indexes)
	return indexes
}
