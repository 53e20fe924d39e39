package proof

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// statements leaves out each statement of a list that is no declaration and that no other
// needs in order to compile.
func (w *walker) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt:
			w.leaveOut(s)
		case *ast.BranchStmt:
			if s.Label == nil && (s.Tok == token.BREAK || s.Tok == token.CONTINUE) {
				w.leaveOut(s)
			}
		case *ast.AssignStmt:
			if blank, ok := s.Lhs[0].(*ast.Ident); s.Tok != token.DEFINE && (!ok || blank.Name != "_") {
				w.leaveOut(s)
				w.sides(s)
			}
		}
	}
}

func (w *walker) leaveOut(s ast.Stmt) {
	id := w.add(change{operator: Delete, node: s, text: "", becomes: "(left out)"})
	w.around(s, func(inner string) string { return "if " + off(id) + " { " + inner + " }" })
}

// sides leaves out one side of an assignment to several variables.
func (w *walker) sides(s *ast.AssignStmt) {
	if len(s.Lhs) < 2 || len(s.Lhs) != len(s.Rhs) {
		return
	}
	for i := range s.Lhs {
		var left, right []string
		for j := range s.Lhs {
			if j != i {
				left, right = append(left, w.text(s.Lhs[j])), append(right, w.text(s.Rhs[j]))
			}
		}
		text := strings.Join(left, ", ") + " = " + strings.Join(right, ", ")
		id := w.add(change{operator: Delete, node: s, text: text, becomes: "(without " + w.text(s.Lhs[i]) + ")"})
		w.around(s, func(inner string) string {
			return "if " + on(id) + " { " + text + " } else { " + inner + " }"
		})
	}
}

// returns handles a return of a function whose last result is a bool or an error, or whose
// result is a pointer.
func (w *walker) returns(r *ast.ReturnStmt, fields *ast.FieldList) {
	if fields == nil || len(r.Results) != fields.NumFields() {
		return
	}
	var zeros []string
	for _, f := range fields.List {
		for range max(1, len(f.Names)) {
			zeros = append(zeros, "*new("+w.text(f.Type)+")")
		}
	}
	last := r.Results[len(r.Results)-1]
	t, declared := w.info.Types[last], w.info.Types[fields.List[len(fields.List)-1].Type].Type
	var text, becomes string
	switch _, pointer := declared.(*types.Pointer); {
	case pointer && len(r.Results) == 1 && !t.IsNil():
		text, becomes = "return nil", "return nil (does not apply)"
	case isBoolean(declared):
		if len(r.Results) == 1 || t.Value != nil && w.text(last) == "false" {
			return
		}
		zeros[len(zeros)-1] = "false"
		text, becomes = "return "+strings.Join(zeros, ", "), "return (does not apply)"
	case types.TypeString(declared, nil) == "error" && !t.IsNil():
		kept := w.file.source[w.offset(r.Pos()):w.offset(last.Pos())]
		text, becomes = kept+"nil", kept+"nil"
	default:
		return
	}
	id := w.add(change{operator: Return, node: r, text: text, becomes: becomes})
	w.around(r, func(inner string) string { return "if " + on(id) + " { " + text + " }; " + inner })
}

// cases drops each value of a switch with a tag, which turns into one without. A switch
// with an init statement before its tag is left alone.
func (w *walker) cases(s *ast.SwitchStmt) {
	if s.Tag == nil || s.Init != nil {
		return
	}
	tag := ""
	for _, clause := range s.Body.List {
		clause, ok := clause.(*ast.CaseClause)
		if !ok {
			continue
		}
		for i, value := range clause.List {
			var rest []string
			for j, other := range clause.List {
				if j != i {
					rest = append(rest, w.text(other))
				}
			}
			// A case without values never applies, but for Go's syntax.
			text := "case " + strings.Join(rest, ", ") + ":"
			if len(rest) == 0 {
				text = "case /* dropped */ " + w.text(value) + ":"
			}
			header := span{clause.Pos(), clause.Colon + 1}
			id := w.add(change{
				operator: Case, node: header, text: text,
				was: "case " + w.text(value), becomes: "(dropped)",
			})
			if tag == "" {
				tag = fmt.Sprintf("mutantTag%d", id)
				name := tag
				w.around(s.Tag, func(inner string) string { return name + " := (" + inner + ");" })
			}
			name := tag
			w.around(value, func(inner string) string { return name + " == (" + inner + ") && " + off(id) })
		}
	}
}

// span is a piece of source that is no node of its own.
type span struct{ from, to token.Pos }

func (s span) Pos() token.Pos { return s.from }
func (s span) End() token.Pos { return s.to }

// passes drops all passes of a loop over something.
func (w *walker) passes(r *ast.RangeStmt) {
	header := span{r.Pos(), r.Body.Lbrace + 1}
	id := w.add(change{
		operator: Case, node: header, text: w.text(header) + "\nbreak",
		was: "for range " + w.text(r.X), becomes: "(no pass)",
	})
	brace := span{r.Body.Lbrace, r.Body.Lbrace + 1}
	w.around(brace, func(inner string) string { return inner + " if " + on(id) + " { break };" })
}

// field leaves out a field of a struct literal.
func (w *walker) field(pair *ast.KeyValueExpr, stack []ast.Node) {
	literal, ok := stack[len(stack)-1].(*ast.CompositeLit)
	if !ok {
		return
	}
	tv := w.info.Types[pair.Value]
	if _, isStruct := w.info.Types[literal].Type.Underlying().(*types.Struct); !isStruct || tv.IsNil() || isBoolean(tv.Type) {
		return
	}
	if _, isFunc := pair.Value.(*ast.FuncLit); isFunc || tv.Value != nil && !w.namedConstant(pair.Value) {
		return
	}
	id := w.add(change{operator: Field, node: pair.Value, text: "*new(T)", was: w.text(pair), becomes: "(left out)"})
	w.around(pair.Value, func(inner string) string { return fmt.Sprintf("mutantKeep(%d, %s)", id, inner) })
}

// namedConstant reports whether the expression is the name of a constant of an
// enumeration: only then does a generic function see its type.
func (w *walker) namedConstant(e ast.Expr) bool {
	var name *ast.Ident
	switch e := e.(type) {
	case *ast.Ident:
		name = e
	case *ast.SelectorExpr:
		name = e.Sel
	default:
		return false
	}
	c, ok := w.info.Uses[name].(*types.Const)
	if !ok {
		return false
	}
	_, named := c.Type().(*types.Named)
	return named && types.TypeString(c.Type(), nil) != "time.Duration"
}

// table handles the value of a package variable that is a list of rules or a map.
func (w *walker) table(value ast.Expr) {
	literal, ok := value.(*ast.CompositeLit)
	if !ok || len(literal.Elts) < 2 {
		return
	}
	switch t := w.info.Types[literal].Type.Underlying().(type) {
	case *types.Slice:
		var changes []change
		for _, element := range literal.Elts {
			changes = append(changes, change{operator: Table, node: element, text: "/* dropped */", becomes: "(dropped)"})
		}
		for i, element := range literal.Elts[1:] {
			before := literal.Elts[i]
			changes = append(changes, change{
				operator: Table, node: span{before.Pos(), element.End()}, text: w.text(element) + ", " + w.text(before),
				was: w.text(before), becomes: "(after " + w.text(element) + ")",
			})
		}
		first := w.addAll(changes)
		w.around(literal, func(inner string) string { return fmt.Sprintf("mutantList(%d, %s)", first, inner) })
	case *types.Map:
		if isBoolean(t.Elem()) {
			return // flipped one by one
		}
		var keys []string
		first := len(w.pkg.Mutants) + 1
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				keys = append(keys, w.text(pair.Key))
				w.add(change{operator: Table, node: pair, text: "/* dropped */", becomes: "(dropped)"})
			}
		}
		w.around(literal, func(inner string) string {
			return fmt.Sprintf("mutantMap(%d, %s, %s)", first, inner, strings.Join(keys, ", "))
		})
	}
}
