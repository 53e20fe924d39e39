// What GitHub's runner and an action tell each other: environment variables, files, and
// commands on the standard output.
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'

/** The value of an input without surrounding blanks; empty where none is given. */
export function input(name) {
  return (process.env[`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`] ?? '').trim()
}

export const setOutput = (name, value) => append('GITHUB_OUTPUT', entry(name, value))

/** Keeps a value for the post step. Said again, the last value counts. */
export const saveState = (name, value) => append('GITHUB_STATE', entry(name, value))

/** A value that the main step kept; empty where it kept none. */
export const state = (name) => process.env[`STATE_${name}`] ?? ''

export const summarize = (markdown) => append('GITHUB_STEP_SUMMARY', markdown)

export const say = (line) => process.stdout.write(`${line}\n`)

/** Has the runner hide a value in every log from now on. */
export const mask = (value) => say(`::add-mask::${escapeData(value)}`)

/** An annotation that a person sees above the log. */
export const complain = (title, message) =>
  say(`::error title=${escapeData(title).replaceAll(':', '%3A').replaceAll(',', '%2C')}::${escapeData(message)}`)

/**
 * Begins a part of the log in which the runner obeys nothing, and returns what ends it.
 * assay shows logs of templates, and those may say anything.
 */
export function obeyNothing() {
  const word = randomUUID()
  say(`::stop-commands::${word}`)
  return () => say(`::${word}::`)
}

const escapeData = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

// The delimiter cannot be foreseen, so no value can end itself early.
function entry(name, value) {
  const delimiter = `end-${randomUUID()}`
  return `${name}<<${delimiter}\n${value}\n${delimiter}\n`
}

// Written at once: a step can be killed at any time.
function append(file, text) {
  if (process.env[file]) appendFileSync(process.env[file], text)
}
