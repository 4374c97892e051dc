import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const DIST = fileURLToPath(new URL('../../../dist/', import.meta.url))

/** The options of a script, with the defaults that it gives; numbers are recognised by their default. */
export function readOptions(defaults) {
  const known = { ...defaults, seed: Date.now() % 1_000_000, 'slack-ms': 150, dist: DIST }
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
