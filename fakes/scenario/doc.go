// Package scenario runs the scenario files of core/lifecycle/scenarios: stories of
// one test on one deployment, with the trail that the lifecycle must leave.
//
// A file has comments that tell the story, a header that sets the stage, and the
// trail, which begins at the first line that starts with a time:
//
//	# The start script fails: the test fails, its workspace goes.
//	coder   template acme.docker
//	        version v2 active
//	        start build 30s ok, agent connects +2s, script fails +38s
//	        delete build 10s ok
//	test    template=acme.docker version=active timeout=15m
//
//	00:00   hold taken
//	00:00   Pending    Initializing
//	00:00   Running    CreatingWorkspace  marker
//	00:00 > create     version v2, owner tester
//
// A line that begins with blanks belongs to the keyword above it. The keywords:
//
//   - coder: the deployment; see stage.go for its statements.
//   - plane: the control plane: owner=USER|none|TEXT allow-retain
//     allow-privileged-owner allow-personal-owner no-access unready absent.
//   - test: the spec, as template= version= timeout= inputs-timeout= ttl=
//     preset= param.NAME= policy=.
//   - at TIME: what people do then; see people.go.
//   - fault: what goes wrong; see faults.go.
//   - row: a row of a table in docs/reference/lifecycle.md that this file shows.
//   - until TIME: where the story ends if it does not end by itself.
//
// In the trail, each line is a stored transition with what changed besides phase
// and reason, or, after ">", a request that changes something in Coder, with why it
// failed if it did, or, after "*", what people did. Times are minutes and seconds
// since the start, by the virtual clock.
//
// The runner drives the bare engine: it does a step whenever the engine asked to
// look again, and at once when something happens to a workspace that it watches. A
// Front has the same stories told by a front end, which says when it steps.
package scenario
