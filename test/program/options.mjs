import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { DIST } from './program.mjs'

/**
 * What a mark may be late by. On a quiet machine it is a few milliseconds; where others work too, one commit can take a
 * quarter of a second. The median has no such slack.
 */
const SLACK_MS = 400

/** The options of a script, with the defaults that it gives; numbers are recognised by their default. */
export function readOptions(defaults) {
  endInOrder()
  const known = { ...defaults, seed: Date.now() % 1_000_000, 'slack-ms': SLACK_MS, dist: DIST }
  const names = Object.keys(known)
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) })
  const options = Object.fromEntries(
    names.map((name) => [
      name,
      typeof known[name] === 'number' ? numberOf(name, values[name], known[name]) : (values[name] ?? known[name]),
    ]),
  )
  return { ...options, dist: resolve(options.dist) }
}

function numberOf(name, text, fallback) {
  const number = text === undefined ? fallback : Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new Error(`--${name} takes a whole number, not ${text}`)
}

/** What the script clears away at its end, it also clears away when a person ends it by hand. */
export function endInOrder() {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
}
