package proof

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report writes the table of results, what is wrong with the list of survivors, and the
// score. It returns whether nothing is.
func Report(out io.Writer, pkg *Package, results []Result, suites []Suite, survivors Survivors) (bool, error) {
	var report strings.Builder
	table(&report, results, suites)
	unexplained, stale := survivors.Check(pkg, results)
	if len(unexplained) > 0 {
		report.WriteString("\nsurvivors that survivors.txt does not explain; write a test that notices them, or say why none can:\n")
		for _, r := range unexplained {
			fmt.Fprintf(&report, "\n    %s:%d, mutant %d\n%s\n", r.Mutant.File, r.Mutant.Line, r.Mutant.ID, r.Mutant.Key())
		}
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		report.WriteString("\nentries of survivors.txt to remove:\n")
		for _, line := range stale {
			fmt.Fprintln(&report, "      ", line)
		}
	}
	killed := 0
	for _, r := range results {
		if r.Killer != "" {
			killed++
		}
	}
	survived := len(results) - killed
	fmt.Fprintf(&report, "\n%d mutants: %d killed (%.1f %%), %d survived, of which survivors.txt explains %d\n",
		len(results), killed, percent(killed, len(results)), survived, survived-len(unexplained))
	_, err := io.WriteString(out, report.String())
	return len(unexplained) == 0 && len(stale) == 0, err
}

func percent(part, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(part) / float64(all)
}

// table writes a line for each file: its mutants, and who killed how many.
func table(out io.Writer, results []Result, suites []Suite) {
	var names []string
	counts := map[string]map[string]int{}
	count := func(name, killer string) {
		if counts[name] == nil {
			counts[name] = map[string]int{}
		}
		counts[name][killer]++
	}
	for _, r := range results {
		if !slices.Contains(names, r.Mutant.File) {
			names = append(names, r.Mutant.File)
		}
		count(r.Mutant.File, r.Killer)
		count("total", r.Killer)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "file\tmutants\t"
	for _, s := range suites {
		header += s.Name + "\t"
	}
	_, _ = fmt.Fprintln(w, header+"survived\t")
	for _, name := range append(names, "total") {
		of, all := counts[name], 0
		for _, n := range of {
			all += n
		}
		line := fmt.Sprintf("%s\t%d\t", name, all)
		for _, s := range suites {
			line += fmt.Sprintf("%d\t", of[s.Name])
		}
		_, _ = fmt.Fprintf(w, "%s%d\t\n", line, of[""])
	}
	_ = w.Flush()
}
