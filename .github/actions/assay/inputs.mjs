// Reads the inputs and turns them into what assay is called with.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { input } from './runner.mjs'

/** What is wrong with the inputs, a line each. */
export class InputError extends Error {
  constructor(problems) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** The environment of assay: this one, the tokens, and none of the inputs. */
export function environment() {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(INPUT|STATE)_/.test(name)))
  env.CODER_SESSION_TOKEN = input('token')
  if (input('push-token')) env.ASSAY_PUSH_TOKEN = input('push-token')
  return env
}

/** The flags that say where Coder is, which every call of assay takes. */
export function connection() {
  return [`--url=${input('url')}`, ...flag('ca-file')]
}

/**
 * The arguments of "assay run" but for its own files, and the files that it writes.
 * Each value is joined to its flag: one that begins with a dash stays a value.
 */
export function runArguments() {
  const problems = [...connectionProblems(), ...subjectProblems(), ...formProblems(), ...fileProblems()]
  if (problems.length > 0) throw new InputError(problems)
  const args = [
    ...connection(), ...flag('suite'), ...lines('template'), ...lines('version'), ...lines('param'), ...flag('owner'),
    ...flag('push'), ...flag('variables-file'), ...(input('promote') === 'true' ? ['--promote'] : []),
    ...flag('parallel'), ...flag('retry-inconclusive'), ...flag('timeout'),
    ...flag('artifacts'), ...flag('junit'), ...flag('html'),
  ]
  return { args, folders: ['junit', 'html'].filter(input).map((name) => dirname(resolve(input(name)))) }
}

/** Where assay is: what was named, else the first in PATH. */
export function findAssay() {
  const named = input('assay-path')
  if (named) {
    const path = resolve(named)
    if (executable(path)) return path
    throw new InputError([`assay-path: ${named} is no program that may be run: name the assay program`])
  }
  const name = process.platform === 'win32' ? 'assay.exe' : 'assay'
  const found = (process.env.PATH ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, name)).find(executable)
  if (found) return found
  throw new InputError([
    'there is no assay in PATH: bring it in a step before, for example with ' +
      '"go install github.com/assay-dev/assay/apps/cli/cmd/assay@v1.0.0", or name it with assay-path',
  ])
}

const flag = (name) => (input(name) ? [`--${name}=${input(name)}`] : [])
const list = (name) => input(name).split('\n').map((line) => line.trim()).filter(Boolean)
const lines = (name) => list(name).map((line) => `--${name}=${line}`)

function* connectionProblems() {
  if (!input('url')) yield 'url: is missing: give the address of the Coder deployment'
  else if (!/^https?:\/\/[^/]/.test(input('url'))) yield 'url: must begin with https://, for example https://coder.example.com'
  if (!input('token')) {
    yield 'token: is missing or empty: give a secret with the session token of the tester; ' +
      'GitHub gives none to pull requests from forks'
  }
}

function* subjectProblems() {
  const templates = list('template').length
  const versions = list('version').length
  if (input('suite')) {
    for (const name of ['template', 'param', 'push']) {
      if (input(name)) yield `${name}: does not go with suite, whose file names what is tested: leave out one of them`
    }
  } else if (templates === 0) {
    yield 'template: is missing: name what is tested as ORGANIZATION.NAME, or give a suite'
  } else if (input('push')) {
    if (templates > 1) yield 'push: makes a version of one template: name one'
    if (versions > 0) yield 'version: does not go with push, which tests the version that it makes: leave out one of them'
  } else if (versions === 0) {
    yield 'version: is missing: give a name, an ID or "active", or push a folder'
  }
  if (input('promote') === 'true' && (input('suite') || (!input('push') && (versions !== 1 || templates > 1)))) {
    yield 'promote: takes a folder to push, or one version of one template'
  }
  if (input('variables-file') && !input('push')) yield 'variables-file: is for push: leave it out'
  if (input('push-token') && !input('push') && input('promote') !== 'true') {
    yield 'push-token: is for push and promote: leave it out'
  }
  const bad = list('param').findIndex((line) => line.indexOf('=') < 1)
  // The line stays untold: it may be a value.
  if (bad >= 0) yield `param: line ${bad + 1} must be NAME=VALUE, for example region=eu`
}

function* formProblems() {
  for (const [name, least, most] of [['parallel', 1, 100], ['retry-inconclusive', 0, 10]]) {
    const text = input(name)
    if (text && !(/^\d{1,3}$/.test(text) && least <= Number(text) && Number(text) <= most)) {
      yield `${name}: must be a number from ${least} to ${most}`
    }
  }
  if (input('timeout') && !/^(\d+(\.\d+)?(s|m|h))+$/.test(input('timeout'))) {
    yield 'timeout: must be a number with a unit, such as 90s, 15m or 1h'
  }
  if (!['', 'true', 'false'].includes(input('promote'))) yield 'promote: must be "true" or "false"'
  for (const name of ['url', 'token', 'push-token', 'suite', 'owner', 'push', 'variables-file', 'ca-file', 'artifacts', 'junit', 'html']) {
    if (/[\r\n\0]/.test(input(name))) yield `${name}: must be one line`
  }
}

function* fileProblems() {
  for (const [name, what, is] of [
    ['suite', 'file', 'isFile'], ['ca-file', 'file', 'isFile'], ['variables-file', 'file', 'isFile'],
    ['push', 'folder', 'isDirectory'],
  ]) {
    if (input(name) && !statSync(input(name), { throwIfNoEntry: false })?.[is]()) {
      yield `${name}: there is no ${what} ${input(name)} below ${process.cwd()}: check out the repository in a step before`
    }
  }
}

function executable(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
