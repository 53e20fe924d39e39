package proof

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// condition handles an expression whose value is a bool.
func (w *walker) condition(e ast.Expr, stack []ast.Node) {
	if _, parenthesized := e.(*ast.ParenExpr); parenthesized {
		return
	}
	where, whole := w.decides(e, stack)
	changes := w.logic(e)
	if whole {
		// Always and never see to it that both sides are tested; the negation adds nothing.
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.negates })
	}
	first := w.addAll(changes)
	never, always := 0, 0
	if whole {
		never = w.add(change{operator: Condition, node: e, text: "false", was: where + " " + w.text(e), becomes: where + " false"})
		if where != "for" { // a loop without end says nothing
			always = w.add(change{operator: Condition, node: e, text: "true", was: where + " " + w.text(e), becomes: where + " true"})
		}
	}
	if len(changes) == 0 && never == 0 {
		return
	}
	w.around(e, func(inner string) string {
		if len(changes) > 0 {
			inner = fmt.Sprintf("!mutantIn(%d, %d) && (%s)", first, first+len(changes)-1, inner)
			for i, c := range changes {
				inner += fmt.Sprintf(" || %s && (%s)", on(first+i), c.text)
			}
		}
		if never != 0 {
			inner = fmt.Sprintf("(%s) && %s", inner, off(never))
		}
		if always != 0 {
			inner += " || " + on(always)
		}
		return "(" + inner + ")"
	})
}

// opposite and boundary are what the comparisons turn into.
var (
	opposite = map[token.Token]string{
		token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<",
	}
	boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
)

// logic finds the changes of an operator. Its other side is source text that is not
// instrumented: only one mutant is active.
func (w *walker) logic(e ast.Expr) []change {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op != token.NOT {
			return nil
		}
		return []change{{operator: Logic, node: e, text: w.text(e.X), negates: true}}
	case *ast.CallExpr:
		return w.calledComparison(e)
	case *ast.BinaryExpr:
		x, y := w.text(e.X), w.text(e.Y)
		shown := x
		left, isBinary := e.X.(*ast.BinaryExpr)
		chain := isBinary && left.Op == e.Op
		if chain {
			shown = "… " + e.Op.String() + " " + w.text(left.Y)
		}
		was := shown + " " + e.Op.String() + " " + y
		swap := func(operator Operator, other string) change {
			return change{
				operator: operator, node: e, text: x + " " + other + " " + y,
				was: was, becomes: shown + " " + other + " " + y,
			}
		}
		switch e.Op {
		case token.LAND, token.LOR:
			other := "||"
			if e.Op == token.LOR {
				other = "&&"
			}
			changes := []change{swap(Logic, other), {operator: Logic, node: e, text: x, was: was, becomes: "(without " + y + ")"}}
			if !chain {
				changes = append(changes, change{operator: Logic, node: e, text: y, becomes: "(without " + x + ")"})
			}
			return changes
		default:
			negation := swap(Compare, opposite[e.Op])
			negation.negates = true
			changes := []change{negation}
			if other := boundary[e.Op]; other != "" {
				changes = append(changes, swap(Compare, other))
			}
			return changes
		}
	}
	return nil
}

// calledComparison finds the changes of a comparison that is a call.
func (w *walker) calledComparison(e *ast.CallExpr) []change {
	selector, ok := e.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	function, ok := w.info.Uses[selector.Sel].(*types.Func)
	if !ok {
		return nil
	}
	arguments := make([]string, len(e.Args))
	for i, argument := range e.Args {
		arguments[i] = w.text(argument)
	}
	var text string
	switch function.FullName() {
	case "(time.Time).Before":
		text = "!" + w.text(selector.X) + ".After(" + arguments[0] + ")"
	case "(time.Time).After":
		text = "!" + w.text(selector.X) + ".Before(" + arguments[0] + ")"
	case "strings.EqualFold":
		text = strings.Join(arguments, " == ")
	default:
		return nil
	}
	return []change{{operator: Compare, node: e, text: text}}
}

// decides reports whether the expression is a whole condition, and of what.
func (w *walker) decides(e ast.Expr, stack []ast.Node) (string, bool) {
	switch parent := stack[len(stack)-1].(type) {
	case *ast.IfStmt:
		return "if", parent.Cond == e
	case *ast.ForStmt:
		return "for", parent.Cond == e
	case *ast.ReturnStmt:
		return "return", len(parent.Results) == 1
	case *ast.CaseClause:
		// A value of a switch with a tag is a Case of its own.
		of, ok := stack[len(stack)-3].(*ast.SwitchStmt)
		return "case", ok && of.Tag == nil
	}
	return "", false
}
