package resolve

import (
	"fmt"
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/source"
	"ql/lang/syntax"
)

// call checks a call in an expression.
func (r *resolver) call(c *syntax.Call) {
	if i, ok := r.res.Lookup(r.at, c.Prefix, c.Name); ok {
		r.defined(c, r.res.Funcs[i])
		return
	}
	if c.Prefix != "" {
		r.noMember(c, c.Prefix, c.Name, true)
		r.arguments(c)
		return
	}
	if i, ok := lib.Lookup(c.Name); ok {
		r.builtin(c, lib.At(i))
		return
	}
	if _, ok := r.res.entry(r.at, "", c.Name); ok {
		r.errorf(c, "%s is a constant: write it without brackets", c.Name)
	} else {
		r.noFunction(c, c.Name)
	}
	r.arguments(c)
}

func (r *resolver) defined(c *syntax.Call, f *Func) {
	if need, most := f.Required(), len(f.Params); len(c.Args) < need || len(c.Args) > most {
		r.errorf(c, "%s takes %s; %s given: %s", f.Name, argumentCount(need, most), areGiven(len(c.Args)), f.signature()).As(source.WrongArguments)
	}
	for _, a := range c.Args {
		if l, ok := a.(*syntax.Lambda); ok {
			r.errorf(l, "a lambda is no value: only MAP, FILTER, REDUCE, SORT_BY, GROUP_BY, ANY, ALL and the like take one")
			continue
		}
		r.expr(a)
	}
}

func (r *resolver) builtin(c *syntax.Call, b *lib.Builtin) {
	if len(c.Args) < b.Min || b.Max >= 0 && len(c.Args) > b.Max {
		r.errorf(c, "%s takes %s; %s given: %s", b.Name, argumentCount(b.Min, b.Max), areGiven(len(c.Args)), b.Signature).As(source.WrongArguments)
		r.arguments(c)
		return
	}
	for i, a := range c.Args {
		l, isLambda := a.(*syntax.Lambda)
		switch {
		case b.Loop != lib.NoLoop && i == 1 && r.res.TakesLambda(r.at, b, a):
			if !isLambda && r.res.namesFunction(r.at, a) {
				r.passed(b, a)
				continue
			}
			if n, ok := a.(*syntax.Name); ok && !r.isConstant(n.Name) {
				r.noFunction(n, n.Name)
				continue
			}
			if !isLambda {
				r.errorf(a, "the second argument of %s is a lambda, as in %s(?list, %s)", b.Name, b.Name, lambdaExample(b.Loop))
				r.expr(a)
				continue
			}
			r.lambdaParams(b, l)
			r.lambda(l)
		case isLambda:
			r.errorf(l, "%s takes no lambda here: %s", b.Name, b.Signature)
		default:
			r.expr(a)
		}
	}
}

func lambdaExample(l lib.Loop) string {
	if l == lib.LoopReduce {
		return "(?sum, ?x) -> ?sum + ?x, 0"
	}
	return "?x -> ?x.name"
}

// lambdaParams checks how many parameters a lambda has: (sum, element[, index])
// for REDUCE, (element[, index]) for the rest.
func (r *resolver) lambdaParams(b *lib.Builtin, l *syntax.Lambda) {
	low, high, what := lambdaArity(b)
	if len(l.Params) < low || len(l.Params) > high {
		r.errorf(l, "the lambda of %s takes %s", b.Name, what)
	}
}

// lambdaArity returns how many parameters the lambda of a built-in has at least and at most,
// and which.
func lambdaArity(b *lib.Builtin) (low, high int, what string) {
	if b.Loop == lib.LoopReduce {
		return 2, 3, "the result so far, the element and, if wanted, its index"
	}
	if b.Loop == lib.LoopEntries {
		return 1, 2, "the value and, if wanted, its key"
	}
	return 1, 2, "the element and, if wanted, its index"
}

func argumentCount(low, high int) string {
	switch {
	case high < 0:
		return fmt.Sprintf("at least %s", plural(low, "argument"))
	case low == high:
		return plural(low, "argument")
	}
	if high == low+1 {
		return fmt.Sprintf("%d or %s", low, plural(high, "argument"))
	}
	return fmt.Sprintf("%d to %s", low, plural(high, "argument"))
}

// areGiven says how many arguments a call has.
func areGiven(n int) string {
	switch n {
	case 0:
		return "none is"
	case 1:
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// signature shows how the function is called.
func (f *Func) signature() string {
	names := make([]string, len(f.Params))
	for i, p := range f.Params {
		names[i] = "?" + p.Var.Name
	}
	return f.Name + "(" + strings.Join(names, ", ") + ")"
}

func plural(n int, word string) string {
	switch n {
	case 0:
		return "no " + word + "s"
	case 1:
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// habits are the names that other languages have for functions of ours.
var habits = map[string]string{
	"LEN":    "LENGTH for the characters of a text, COUNT for the elements of a list",
	"STRLEN": "LENGTH", "SIZE": "COUNT", "SIZEOF": "COUNT",
	"STR": "TEXT", "STRING": "TEXT", "TOSTRING": "TEXT", "TO_STRING": "TEXT",
	"INT": "NUMBER", "FLOAT": "NUMBER", "INTVAL": "NUMBER", "PARSEINT": "NUMBER", "PARSEFLOAT": "NUMBER", "TO_NUMBER": "NUMBER", "CAST": "NUMBER or TEXT",
	"BOOL": "BOOLEAN", "TYPEOF": "TYPE", "GETTYPE": "TYPE",
	"STRTOUPPER": "UPPER", "TOUPPERCASE": "UPPER", "UCASE": "UPPER", "STRTOLOWER": "LOWER", "TOLOWERCASE": "LOWER", "LCASE": "LOWER",
	"SUBSTR": "SUBSTRING", "INDEXOF": "POSITION for texts, INDEX_OF for lists", "STRPOS": "POSITION", "INSTR": "POSITION",
	"EXPLODE": "SPLIT", "IMPLODE": "JOIN", "CONCAT": "+, which joins texts and lists", "STR_REPLACE": "REPLACE", "SPRINTF": "insertions, as in \"{?name}\"", "FORMAT": "insertions, as in \"{?name}\"",
	"PUSH": "APPEND … TO ?list", "ARRAY_PUSH": "APPEND … TO ?list", "IN_ARRAY": "IN", "ARRAY_KEYS": "KEYS", "ARRAY_VALUES": "VALUES", "ARRAY_MAP": "MAP", "ARRAY_FILTER": "FILTER",
	"JSON_ENCODE": "TO_JSON", "JSON_DECODE": "FROM_JSON", "STRINGIFY": "TO_JSON",
	"NVL": "DEFAULT, as in ?x DEFAULT 0", "COALESCE": "DEFAULT, as in ?a DEFAULT ?b", "IFNULL": "DEFAULT, as in ?x DEFAULT 0", "ISNULL": "IS NULL", "IS_NULL": "IS NULL", "ISSET": "IS NOT NULL",
	"IF": "CASE WHEN … THEN … ELSE … END", "IIF": "CASE WHEN … THEN … ELSE … END",
	"AVG": "AVERAGE", "MEAN": "AVERAGE", "POW": "POWER", "CEILING": "CEIL", "RAND": "RANDOM", "MOD": "%",
	"DATE": "FORMAT_TIME", "STRFTIME": "FORMAT_TIME", "TIME": "NOW", "GETDATE": "NOW", "CURRENT_TIMESTAMP": "NOW", "DATEADD": "ADD_TIME", "DATEDIFF": "DIFFERENCE",
	"HTMLSPECIALCHARS": "TO_HTML", "URLENCODE": "TO_URL", "ENCODEURICOMPONENT": "TO_URL", "URLDECODE": "FROM_URL", "BASE64_ENCODE": "TO_BASE64", "BASE64_DECODE": "FROM_BASE64",
	"MAPVALUES": "MAP_VALUES", "DEEPMERGE": "MERGE_DEEP", "CHUNKS": "CHUNK", "COUNT_WHERE": "COUNT(?list, ?x -> condition)", "FIND_FIRST": "FIRST(?list, ?x -> condition)",
	"PRINT": "EMIT", "ECHO": "EMIT", "SLEEP": "WAIT 1 SECOND", "EXIT": "STOP", "DIE": "FAIL",
	"DISTINCT": "UNIQUE", "SORTED": "SORT", "USORT": "SORT_BY", "RANDOM_INT": "RANDOM(1, 6)", "PREG_MATCH": "MATCHES or FIND", "REGEX": "MATCHES",
	"PASSWORD_VERIFY": "PASSWORD_MATCHES", "MD5": "SHA256", "SHA1": "SHA256", "HASH": "SHA256",
}

// noFunction reports a node that starts with the name of a function that is not there.
func (r *resolver) noFunction(n syntax.Node, name string) {
	if r.open {
		return
	}
	said, instead := r.suggest(name)
	e := r.errorf(n, "there is no function %s%s", name, said).As(source.UnknownFunction)
	if instead != "" {
		e.Offer(n.Pos(), n.Pos()+source.Pos(len(name)), instead)
	}
}

// suggest says what a wrong function name may have been meant to be, and which name
// to write instead, "" where it takes more than a name.
func (r *resolver) suggest(name string) (said, instead string) {
	if h, ok := habits[strings.ToUpper(name)]; ok {
		if _, ok := lib.Lookup(h); ok {
			instead = h
		}
		return ": here it is " + h, instead
	}
	var names []string
	for _, e := range r.res.units[r.res.files[r.at].unit] {
		if e.constant == nil {
			names = append(names, r.res.Funcs[e.fn].Name)
		}
	}
	slices.Sort(names)
	for i := range lib.Len() {
		names = append(names, lib.At(i).Name)
	}
	if near := source.Nearest(name, names); near != "" {
		return "; there is " + near, near
	}
	return ": DEFINE makes one", ""
}
