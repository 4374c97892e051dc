import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { visibleBytes, visibleWords } from './visible.mjs'

const WIRE = 'openai-chat'

/**
 * Every recording of the chat wire that has a usage, in both forms: the one that was recorded, and the other as the
 * harness derives it. `usage` is what the oracle says of it: input with what was cached, output with its reasoning.
 */
export async function loadExchanges(copy) {
  const load = (file) => import(pathToFileURL(join(copy, 'harness', file)).href)
  const [{ loadSet }, { toJson, toLines }] = await Promise.all([load('lib.mjs'), load('convert.mjs')])
  const expected = JSON.parse(readFileSync(join(copy, 'visible', 'expected.json'), 'utf8')).fixtures
  return loadSet('visible')
    .filter(({ wire, kind }) => wire === WIRE && kind !== 'error')
    .map((fixture) => {
      const { id, provider, nature } = fixture
      const chunks = fixture.lines?.map((line) => JSON.parse(line)) ?? toLines(WIRE, fixture.body, provider)
      const body = fixture.body ?? toJson(WIRE, fixture.lines)
      const { usage } = expected.find((one) => one.id === id)
      return { id, edited: nature === 'edited', chunks, body, usage: usageOf(usage), ...seenIn(body) }
    })
}

const usageOf = ({ input, cached, cacheWrite, output }) => ({
  uncached_input: input - (cached ?? 0) - (cacheWrite ?? 0),
  cached_input: cached ?? 0,
  cache_write: cacheWrite ?? 0,
  output,
})

/** A tool call is more tokens than its words: only an answer in plain words tells how long these are. */
function seenIn({ choices: [{ message }] }) {
  return { bytes: visibleBytes(message), words: visibleWords(message), plain: !message.tool_calls?.length }
}
