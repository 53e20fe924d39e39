package proof

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// walker finds the mutants of one file and instruments it.
type walker struct {
	pkg    *Package
	file   *file
	tokens *token.File
	info   *types.Info
	// fn is the declaration that the walk is in.
	fn string
}

func (w *walker) walk(tree *ast.File) {
	for _, declaration := range tree.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			w.fn = d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				w.fn = receiver(d.Recv.List[0].Type) + "." + w.fn
			}
			w.inside(d)
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					w.fn = v.Names[0].Name
					for _, value := range v.Values {
						w.table(value)
					}
					w.inside(v)
				}
			}
		}
	}
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return "?"
	}
}

// inside visits a declaration. Each node's edits come before those of the nodes in it,
// so that they end up around them.
func (w *walker) inside(root ast.Node) {
	ast.PreorderStack(root, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.BlockStmt:
			w.statements(n.List)
		case *ast.CaseClause:
			w.statements(n.Body)
		case *ast.ReturnStmt:
			w.returns(n, results(stack))
		case *ast.SwitchStmt:
			w.cases(n)
		case *ast.RangeStmt:
			w.passes(n)
		case *ast.KeyValueExpr:
			w.field(n, stack)
		case ast.Expr:
			return w.expression(n, stack)
		}
		return true
	})
}

// expression handles one expression and says whether to look inside it.
func (w *walker) expression(e ast.Expr, stack []ast.Node) bool {
	tv, known := w.info.Types[e]
	switch {
	case !known || tv.IsType():
		_, literal := e.(*ast.FuncLit)
		return !tv.IsType() || literal
	case tv.Value != nil:
		w.constant(e, tv, stack)
		return false
	case isBoolean(tv.Type):
		w.condition(e, stack)
	default:
		w.arithmetic(e)
	}
	return true
}

// results is the result list of the function around a node.
func results(stack []ast.Node) *ast.FieldList {
	for i := len(stack) - 1; i >= 0; i-- {
		switch f := stack[i].(type) {
		case *ast.FuncDecl:
			return f.Type.Results
		case *ast.FuncLit:
			return f.Type.Results
		}
	}
	return nil
}

func isBoolean(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsBoolean != 0
}

// offset is a position in the source, in bytes.
func (w *walker) offset(p token.Pos) int { return w.tokens.Offset(p) }

// text is the source of a node.
func (w *walker) text(n ast.Node) string {
	return w.file.source[w.offset(n.Pos()):w.offset(n.End())]
}

// around puts instrumentation around a node.
func (w *walker) around(n ast.Node, wrap func(inner string) string) {
	w.file.edits = append(w.file.edits, edit{from: w.offset(n.Pos()), to: w.offset(n.End()), wrap: wrap})
}

// change is a mutant to be: text instead of a node.
type change struct {
	operator Operator
	node     ast.Node
	text     string
	// was and becomes are shown instead of the node and the text, if set.
	was, becomes string
	// negates: the change is the opposite of a condition.
	negates bool
}

// add gives a change its ID.
func (w *walker) add(c change) int {
	m := Mutant{
		ID: len(w.pkg.Mutants) + 1, File: w.file.name, Line: w.tokens.Line(c.node.Pos()), Func: w.fn,
		Operator: c.operator, Was: c.was, Becomes: c.becomes,
		from: w.offset(c.node.Pos()), to: w.offset(c.node.End()), text: c.text,
	}
	if m.Was == "" {
		m.Was = w.text(c.node)
	}
	if m.Becomes == "" {
		m.Becomes = c.text
	}
	m.Was, m.Becomes = oneLine(m.Was), oneLine(m.Becomes)
	w.pkg.Mutants = append(w.pkg.Mutants, m)
	return m.ID
}

// addAll adds changes and returns the first's ID; the others follow it.
func (w *walker) addAll(changes []change) int {
	first := len(w.pkg.Mutants) + 1
	for _, c := range changes {
		w.add(c)
	}
	return first
}

// off is the Go condition for a mutant not being active.
func off(id int) string { return fmt.Sprintf("!mutantIs(%d)", id) }

// on is the Go condition for a mutant being active.
func on(id int) string { return fmt.Sprintf("mutantIs(%d)", id) }
