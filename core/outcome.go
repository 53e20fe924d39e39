package core

// OutcomeClass says who a verdict speaks about (lifecycle section 8). It is
// stored with the verdict, so that every front end shows the same.
type OutcomeClass string

// The outcome classes.
const (
	// OutcomePassed: the version passed.
	OutcomePassed OutcomeClass = "Passed"
	// OutcomeTemplateFailed: the version itself is at fault.
	OutcomeTemplateFailed OutcomeClass = "TemplateFailed"
	// OutcomeInconclusive: the environment or somebody else kept the version
	// from being judged.
	OutcomeInconclusive OutcomeClass = "Inconclusive"
)
