package sched

import "reflect"

// A Releaser is a result that owns resources. If nobody takes the result, Release is called once:
// when the handle of its task was detached, or when a Join, a JoinAll or a JoinSet that has the
// result is abandoned. So it is for a slice whose elements are Releasers. A type whose pointer is a
// Releaser counts as well; its zero value owns nothing. A nil pointer is not released. A Releaser
// whose Release has results has a method Discard without results, which is called instead.
//
// The result of a detached task is released by the later of two goroutines: the worker that ended
// the task, or the one that detached the handle. Others are released on the goroutine that abandons
// them. Release must not block.
type Releaser interface{ Release() }

type discarder interface{ Discard() }

var (
	releaserType  = reflect.TypeFor[Releaser]()
	discarderType = reflect.TypeFor[discarder]()
)

// mayOwn reports whether a value of the type may have to be released.
func mayOwn(t reflect.Type) bool {
	for range 8 { // a slice type may be its own element
		if t.Kind() == reflect.Interface || isReleaser(t) || isReleaser(reflect.PointerTo(t)) {
			return true
		}
		if t.Kind() != reflect.Slice {
			return false
		}
		t = t.Elem()
	}
	return true
}

func isReleaser(t reflect.Type) bool {
	return t.Implements(releaserType) || t.Implements(discarderType)
}

// releaseValue releases a value that nobody takes.
func releaseValue(v any) {
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Invalid:
		return
	case reflect.Pointer:
		if value.IsNil() {
			return
		}
	}
	switch r := v.(type) {
	case Releaser:
		r.Release()
		return
	case discarder:
		r.Discard()
		return
	}
	switch t := value.Type(); {
	case isReleaser(reflect.PointerTo(t)):
		if !isZero(value) {
			p := reflect.New(t)
			p.Elem().Set(value)
			releaseValue(p.Interface())
		}
	case t.Kind() == reflect.Slice && mayOwn(t.Elem()):
		elements := make([]reflect.Value, value.Len())
		for i := range elements {
			elements[i] = value.Index(i)
		}
		giveUp(elements, func(e reflect.Value) { releasePart(e.Interface()) })
	}
}

// releasePart releases a part of a result. The part of a future that was not done is zero.
func releasePart(v any) {
	if value := reflect.ValueOf(v); value.IsValid() && !isZero(value) {
		releaseValue(v)
	}
}

// isZero reports whether a value owns nothing because it is zero. A type without a size has only
// one value.
func isZero(v reflect.Value) bool { return v.Type().Size() > 0 && v.IsZero() }

// releaseResult releases a result that nobody takes. Beside an error only a Join has values.
func releaseResult[T any](v T, err error) {
	if err == nil {
		releaseValue(v)
		return
	}
	switch v := any(v).(type) {
	case parted:
		v.Release()
	default:
		if reflect.TypeOf(v) != nil && reflect.TypeOf(v).Kind() == reflect.Slice {
			releaseValue(v)
		}
	}
}

// A parted value is the result of a Join of futures of different types.
type parted interface {
	Releaser
	parts()
}
