import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { wordsOfBlock, wordsOfItem, wordsOfMessage, wordsOfPart } from './visible.mjs'

/**
 * Every recording of these wires that has a usage, in both forms: the one that was recorded, and the other as the
 * harness derives it. `usage` is what the oracle says of it: input with what was cached, output with its reasoning.
 */
export async function loadExchanges(copy, wires) {
  const load = (file) => import(pathToFileURL(join(copy, 'harness', file)).href)
  const [{ loadSet }, { toJson, toLines }] = await Promise.all([load('lib.mjs'), load('convert.mjs')])
  const expected = JSON.parse(readFileSync(join(copy, 'visible', 'expected.json'), 'utf8')).fixtures
  return loadSet('visible')
    .filter(({ wire, kind }) => wires.includes(wire) && kind !== 'error')
    .map((fixture) => {
      const { id, wire, provider, nature, kind } = fixture
      const chunks = fixture.lines?.map((line) => JSON.parse(line)) ?? toLines(wire, fixture.body, provider)
      const body = fixture.body ?? toJson(wire, fixture.lines)
      const { usage } = expected.find((one) => one.id === id)
      return {
        id,
        wire,
        provider,
        kind,
        edited: nature === 'edited',
        chunks,
        body,
        usage: usageOf(usage),
        ...seenIn(body),
      }
    })
}

const usageOf = ({ input, cached, cacheWrite, output }) => ({
  uncached_input: input - (cached ?? 0) - (cacheWrite ?? 0),
  cached_input: cached ?? 0,
  cache_write: cacheWrite ?? 0,
  output,
})

/** A tool call is more tokens than its words: only an answer in plain words tells how long these are. */
function seenIn(body) {
  const { words, plain } = emitted(body)
  return { bytes: Buffer.byteLength(words), words, plain }
}

/** By the member that only this wire has. */
function emitted({ choices, output, content, candidates }) {
  if (choices) return { words: wordsOfMessage(choices[0].message), plain: !choices[0].message.tool_calls?.length }
  if (output) return { words: output.map(wordsOfItem).join(''), plain: output.every(({ call_id }) => !call_id) }
  if (content) return { words: content.map(wordsOfBlock).join(''), plain: content.every(({ input }) => !input) }
  const parts = candidates?.[0]?.content?.parts ?? []
  return { words: parts.map(wordsOfPart).join(''), plain: parts.every(({ functionCall }) => !functionCall) }
}
