package proof

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// constant handles a constant expression that is no part of a larger one: true and
// false, and numbers. Constants of an enumeration are left alone.
func (w *walker) constant(e ast.Expr, tv types.TypeAndValue, stack []ast.Node) {
	parent := stack[len(stack)-1]
	switch parent := parent.(type) {
	case *ast.CaseClause, *ast.ArrayType:
		return // must stay constant
	case *ast.CallExpr:
		if name, ok := parent.Fun.(*ast.Ident); ok && name.Name == "make" {
			return // how much room to make changes nothing
		}
	}
	if id, ok := e.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
		w.boolean(id, stack)
		return
	}
	name, values := w.others(tv)
	if len(values) == 0 {
		return
	}
	changes := make([]change, len(values))
	for i, value := range values {
		changes[i] = change{operator: Number, node: e, text: strings.ReplaceAll(value, "x", w.text(e))}
	}
	w.inContext(changes, parent)
	first := w.addAll(changes)
	w.around(e, func(inner string) string {
		text := fmt.Sprintf("mutantPick[%s](%d, %s", name, first, inner)
		for _, c := range changes {
			text += ", " + c.text
		}
		return text + ")"
	})
}

// inContext shows changes of a bare literal together with what it stands in.
func (w *walker) inContext(changes []change, parent ast.Node) {
	for i := range changes {
		c := &changes[i]
		switch parent.(type) {
		case *ast.BinaryExpr, *ast.CallExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.KeyValueExpr, *ast.AssignStmt, *ast.ReturnStmt:
			from, to := w.offset(parent.Pos()), w.offset(parent.End())
			at, end := w.offset(c.node.Pos()), w.offset(c.node.End())
			c.was = w.file.source[from:to]
			c.becomes = w.file.source[from:at] + c.text + w.file.source[end:to]
		}
	}
}

// others are the constants that take the place of one, "x" being the constant, and the
// name of their type in the instrumented code.
func (w *walker) others(tv types.TypeAndValue) (name string, values []string) {
	zero := constant.Sign(orZero(tv.Value)) == 0
	if named, ok := tv.Type.(*types.Named); ok {
		if named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != "time" || named.Obj().Name() != "Duration" {
			return "", nil
		}
		if zero {
			return "mutantDuration", []string{"1e9"}
		}
		return "mutantDuration", []string{"2 * (x)", "0"}
	}
	basic, ok := tv.Type.(*types.Basic)
	switch {
	case !ok || basic.Info()&types.IsUntyped != 0:
		return "", nil
	case basic.Info()&types.IsInteger != 0 && zero:
		return basic.Name(), []string{"1"}
	case basic.Info()&types.IsInteger != 0:
		return basic.Name(), []string{"x + 1", "0"}
	case basic.Info()&types.IsFloat != 0 && !zero:
		return basic.Name(), []string{"2 * (x)", "0"}
	}
	return "", nil
}

func orZero(v constant.Value) constant.Value {
	switch v.Kind() {
	case constant.Int, constant.Float:
		return v
	default:
		return constant.MakeInt64(0)
	}
}

// boolean flips true and false. The true of `return x, true` is the Return operator's.
func (w *walker) boolean(id *ast.Ident, stack []ast.Node) {
	if r, ok := stack[len(stack)-1].(*ast.ReturnStmt); ok && len(r.Results) > 1 && id.Name == "true" && r.Results[len(r.Results)-1] == id {
		return
	}
	c := change{operator: Boolean, node: id, text: "false"}
	if id.Name == "false" {
		c.text = "true"
	}
	changes := []change{c}
	w.inContext(changes, stack[len(stack)-1])
	active := w.addAll(changes)
	w.around(id, func(string) string {
		if id.Name == "false" {
			return on(active)
		}
		return off(active)
	})
}

// calls are the generic functions that stand for an operator of numbers.
var calls = map[token.Token]struct{ name, other string }{
	token.ADD: {"mutantAdd", "-"}, token.SUB: {"mutantSub", "+"}, token.MUL: {"mutantMul", "/"}, token.QUO: {"mutantQuo", "*"},
}

// arithmetic handles sums, products, min and max that are no constants.
func (w *walker) arithmetic(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		call, known := calls[e.Op]
		basic, ok := w.info.Types[e].Type.Underlying().(*types.Basic)
		if !known || !ok || basic.Info()&types.IsNumeric == 0 {
			return
		}
		id := w.add(change{operator: Number, node: e, text: w.text(e.X) + " " + call.other + " " + w.text(e.Y)})
		w.around(e, func(inner string) string { return fmt.Sprintf("%s(%d, %s)", call.name, id, inner) })
		from := w.offset(e.OpPos)
		w.file.edits = append(w.file.edits, edit{from: from, to: from + len(e.Op.String()), wrap: func(string) string { return "," }})
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		if !ok || name.Name != "min" && name.Name != "max" {
			return
		}
		if _, ok := w.info.Uses[name].(*types.Builtin); !ok {
			return
		}
		call, other := "mutantMin", "max"
		if name.Name == "max" {
			call, other = "mutantMax", "min"
		}
		rest := w.file.source[w.offset(e.Lparen):w.offset(e.End())]
		id := w.add(change{operator: Number, node: e, text: other + rest})
		w.around(name, func(string) string { return call })
		w.around(e.Args[0], func(inner string) string { return fmt.Sprintf("%d, %s", id, inner) })
	}
}
