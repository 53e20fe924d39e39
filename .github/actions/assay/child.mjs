// Runs assay, and hands on to it the signals that the runner sends.
import { spawn } from 'node:child_process'

// The runner sends SIGINT to a job that is canceled, SIGTERM 7.5 seconds later, and kills
// everything 2.5 seconds after that. assay has to be gone by then.
const lastMoments = 1500

/**
 * Runs assay to its end, whose code is null if a signal killed it. Nothing of this passes
 * a shell. The standard output is collected, the standard error goes to the log as it
 * comes, by this process's standard output: the runner reads what it obeys there, and
 * orders nothing between two streams. All of it is written when this ends.
 */
export function run(assay, args, env, started = () => {}) {
  return new Promise((done, fail) => {
    // In a process group of its own: a Ctrl-C at a terminal would reach assay twice, and
    // the second signal has it leave at once.
    const child = spawn(assay, args, { env, detached: process.platform !== 'win32', stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let signals = 0
    const handOn = (name) => {
      child.kill(name)
      signals += 1
      if (signals > 1) setTimeout(() => child.kill('SIGKILL'), lastMoments).unref()
    }
    process.on('SIGINT', handOn)
    process.on('SIGTERM', handOn)
    child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text })
    child.stderr.pipe(process.stdout, { end: false })
    child.on('error', fail)
    child.on('spawn', () => started(child.pid))
    child.on('close', (code) => {
      process.off('SIGINT', handOn)
      process.off('SIGTERM', handOn)
      done({ code, stdout })
    })
  })
}
