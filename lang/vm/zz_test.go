package vm_test
import ("testing";"ql/lang";"ql/lang/langtest/gen";"ql/lang/vm";"time";"fmt";"context")
func TestZZ(t *testing.T) {
		text := gen.Program(981, gen.Options{Pure: true, Statements: 20 + int(981%40)})
		text = gen.Shrink(text, func(s string) bool {
			p, err := lang.Compile(s, lang.Options{})
			if err != nil { return false }
			t0 := time.Now()
			pureRun(p, 0)
			return time.Since(t0) > 2*time.Second
		})
		fmt.Println(text)
			p, _ := lang.Compile(text, lang.Options{})
		m := vm.New(p, generous(0), vm.Input{})
		t0 := time.Now()
		m.Run(context.Background())
		fmt.Println(m.Err(), m.Fuel(), m.Steps(), len(m.Output()), time.Since(t0))
}
