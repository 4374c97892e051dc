// Requests that a fuzzer keeps: those that once failed, and the shortest ones that reach each state. They are played before new ones.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** In place of a key, which is new in each run. Bodies have none, so no length changes. */
const KEY = '{key}'

/** An entry is a line of JSON, which a diff shows by itself. */
export const readEntries = (path) =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : []

export const writeEntries = (path, entries) =>
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))

const bytesOf = ({ pieces }) => Buffer.concat(pieces)

export const entryOfRequest = (name, request, { key }) => {
  const { kind, isWhole, isHead, compacts = false, pieces } = request
  const texts = pieces.map((piece) => piece.toString('latin1').replaceAll(key, KEY))
  return { name, kind, isWhole, isHead, compacts, pieces: texts }
}

export const requestOfEntry = ({ name, pieces, ...request }, { key }) => ({
  ...request,
  kind: `${name}, kept`,
  pieces: pieces.map((text) => Buffer.from(text.replaceAll(KEY, key), 'latin1')),
})

/** Longer ones are not kept: the shortest that reaches a state says enough. */
const KEPT_BYTES_MAX = 8_192

/** The shortest request for each state, by a name of the state. */
export function createCover() {
  const shortest = new Map()
  return {
    see(state, request) {
      const { length } = bytesOf(request)
      if (length <= KEPT_BYTES_MAX && length < (shortest.get(state)?.length ?? Number.POSITIVE_INFINITY))
        shortest.set(state, { length, request })
    },
    /** Sorted by state. */
    states: () => [...shortest].sort(([one], [other]) => (one < other ? -1 : 1)),
  }
}
