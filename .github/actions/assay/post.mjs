// The end of the job: finishes what a run left that was killed, canceled or gave up. It
// fails only if a workspace can still exist.
import { existsSync, readFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { run } from './child.mjs'
import { connection, environment } from './inputs.mjs'
import { complain, input, obeyNothing, say, state, summarize } from './runner.mjs'

// GitHub kills a canceled job after five minutes.
const patience = '4m'

const leakRisk = 4

// The codes by which assay promises that nothing is left. 2 is not one of them: a crash of
// Go ends with it too.
const clean = [0, 1, 3, 5, 130, 143]

const assay = state('assay')
const statePath = state('state')
const code = state('code') === '' ? null : Number(state('code'))

if (statePath === '') say('Nothing was started.')
else if (clean.includes(code)) say('The tests ended and left nothing.')
else await finish().catch((error) => remains(error.message))

async function finish() {
  await endOrphan()
  if (!existsSync(statePath)) {
    // assay stores a test before it begins it, so in an empty folder none was begun.
    if (code !== leakRisk && existsSync(dirname(statePath))) return say('The run ended before any test began.')
    return remains(`tests were begun, and their records in ${statePath} are gone`)
  }
  const listen = obeyNothing()
  const resume = ['resume', ...connection(), '--stop', `--state=${statePath}`, `--cleanup-timeout=${patience}`]
  const resumed = await run(assay, resume, environment())
  const listed = await run(assay, ['list', `--state=${statePath}`, '--output=json'], environment())
  say(resumed.stdout)
  listen()
  // The records count, not the code: what the tests came to is nobody's question any more.
  let tests
  try {
    tests = JSON.parse(listed.stdout)
  } catch {
    return remains(`what is left could not be read: "assay resume" ended with ${resumed.code}, "assay list" with ${listed.code}`)
  }
  const left = tests.filter((test) => ['exists', 'unknown'].includes(test.workspace.state))
  if (left.length > 0) {
    return remains(left.map((test) => `workspace ${test.workspace.name}: ${test.workspace.message || test.message}`).join('; '))
  }
  if (resumed.code === leakRisk || resumed.code === null) return remains(`"assay resume" ended with ${resumed.code}`)
  say('Nothing is left.')
}

/** Ends an assay that outlived its step; by its lease it would keep its tests. */
async function endOrphan() {
  const pid = Number(state('pid'))
  for (const [signal, patienceSeconds] of [['SIGTERM', 30], ['SIGTERM', 5], ['SIGKILL', 5]]) {
    if (!runs(pid)) return
    try {
      process.kill(pid, signal)
    } catch {
      // It ended by itself, or is not to be ended: what it left is looked for all the same.
      return
    }
    for (let end = Date.now() + patienceSeconds * 1000; runs(pid) && Date.now() < end;) await pause(100)
  }
}

// Another process may have got the number, but not the name of the state file.
function runs(pid) {
  if (!(pid > 0) || process.platform === 'win32') return false
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(statePath)
  } catch {
    return (spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '').includes(statePath)
  }
}

function remains(why) {
  const owner = input('owner') ? ` --owner ${input('owner')}` : ''
  const sweep = `assay sweep --url ${input('url')}${owner} --older-than 2h`
  complain('assay: a workspace can still exist', `${why}. Look with the tester's token: ${sweep}\n` +
    'It deletes what it proves to be left behind with --delete --dedicated-owner.')
  summarize(`### assay: a workspace can still exist\n\nLook with the tester's token:\n\n    ${sweep}\n`)
  process.exitCode = 1
}
