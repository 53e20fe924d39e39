// The step itself: tests what the inputs name, and ends as assay does.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './child.mjs'
import { environment, findAssay, InputError, runArguments } from './inputs.mjs'
import { complain, input, mask, obeyNothing, saveState, say, setOutput } from './runner.mjs'

const verdicts = {
  0: ['passed', 'every test ended as it should'],
  1: ['failed', 'a version is at fault'],
  2: ['usage', 'the inputs are wrong; nothing was started'],
  3: ['inconclusive', 'the environment or somebody else kept a version from being judged'],
  4: ['leak-risk', 'a workspace can still exist; the end of the job looks again'],
  5: ['not-promoted', 'the version passed, and is not active'],
  130: ['interrupted', 'the job was canceled before a verdict; no workspace is left'],
  143: ['interrupted', 'the job was ended before a verdict; no workspace is left'],
}

// GitHub shows ten annotations of a step.
const mostAnnotations = 10

for (const name of ['token', 'push-token']) {
  if (input(name)) mask(input(name))
}
try {
  await test()
} catch (error) {
  for (const problem of error instanceof InputError ? error.problems : [error.message]) complain('assay', problem)
  tell(2)
}

async function test() {
  const { args, folders } = runArguments()
  const assay = findAssay()
  // A name that nothing else in the job has: a job may test several times.
  const folder = join(process.env.RUNNER_TEMP || tmpdir(), `assay-${randomUUID()}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  folders.forEach((path) => mkdirSync(path, { recursive: true }))
  const statePath = join(folder, 'state.db')
  const report = join(folder, 'report.json')
  // Before assay begins, so that the post step knows of it whatever comes.
  saveState('assay', assay)
  saveState('state', statePath)
  const listen = obeyNothing()
  const { code, stdout } = await run(
    assay, ['run', ...args, `--state=${statePath}`, `--json=${report}`], environment(), (pid) => saveState('pid', pid),
  ).catch((error) => { listen(); throw error })
  // By it the post step knows whether anything can be left.
  if (code !== null) saveState('code', code)
  say(stdout)
  listen()
  tell(code, report, existsSync(statePath))
}

function annotate(code, tests, begun) {
  // assay writes annotations too, but nothing in its output is obeyed.
  const repeated = new Set(tests.map((test) => test.retryOf))
  const bad = tests.filter((test) => test.exitCode && test.met !== true && !repeated.has(test.id)).slice(0, mostAnnotations)
  for (const test of bad) complain(`assay: ${test.case || `${test.template} ${test.version.requested}`}`, `${test.reason}: ${test.message}`)
  if (bad.length === 0) complain('assay', meaning(code, begun)[1])
}

function tell(code, report = '', begun = false) {
  setOutput('exit-code', code ?? '')
  setOutput('verdict', meaning(code)[0])
  const written = report !== '' && existsSync(report)
  const tests = written ? JSON.parse(readFileSync(report, 'utf8')).tests : []
  setOutput('report', written ? report : '')
  setOutput('tests', JSON.stringify(tests.map((test) => test.id).filter(Boolean)))
  if (report !== '' && code !== 0) annotate(code, tests, begun)
  process.exitCode = code ?? 1
}

// begun: there is a state file, so a test can have begun.
function meaning(code, begun = false) {
  if (code === 2 && begun) return ['usage', 'the inputs are wrong, or assay crashed; the end of the job looks what is left']
  return verdicts[code] ?? ['killed', code === null ? 'assay was killed; the end of the job cleans up' : `assay ended with ${code}; the end of the job cleans up`]
}
