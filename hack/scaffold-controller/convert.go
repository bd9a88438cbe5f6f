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
	if err := assign(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()); err != nil {
		return fmt.Errorf("converting %T to %T: %w", from, to, err)
	}
	return nil
}

func assign(to, from reflect.Value) error {
	switch {
	case from.Type() == to.Type():
		to.Set(from)
	case from.Kind() == reflect.Pointer:
		if from.IsNil() {
			return nil
		}
		if to.Kind() == reflect.Pointer {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		return assign(to, from.Elem())
	case from.Kind() == reflect.Slice:
		if from.IsNil() {
			return nil
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			if err := assign(to.Index(i), from.Index(i)); err != nil {
				return err
			}
		}
	case from.Kind() == reflect.Struct:
		indexes, err := fieldsOf(to.Type(), from.Type())
		if err != nil {
			return err
		}
		for i, index := range indexes {
			if field := from.Field(i); !field.IsZero() {
				if err := assign(to.Field(index), field); err != nil {
					return err
				}
			}
		}
	case from.Kind() == reflect.Map:
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next(); {
			value := reflect.New(to.Type().Elem()).Elem()
			if err := assign(value, entries.Value()); err != nil {
				return err
			}
			to.SetMapIndex(entries.Key().Convert(to.Type().Key()), value)
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
	return nil
}

// pair is a pair of struct types, and pairs maps the fields of one to the other's.
type pair struct{ to, from reflect.Type }

var pairs sync.Map

// fieldsOf returns, for each field of from, the index of the field of to.
func fieldsOf(to, from reflect.Type) ([]int, error) {
	if cached, ok := pairs.Load(pair{to, from}); ok {
		return cached.([]int), nil
	}
	indexes := make([]int, from.NumField())
	for i := range indexes {
		// An embedded field has the name of its type.
		name := strings.TrimSuffix(from.Field(i).Name, "ApplyConfiguration")
		field, found := to.FieldByName(name)
		if !found || len(field.Index) != 1 {
			return nil, fmt.Errorf("%s has no field %s", to, name)
		}
		indexes[i] = field.Index[0]
	}
	pairs.Store(pair{to, from}, indexes)
	return indexes, nil
}
