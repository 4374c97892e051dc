import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { expectGrammar } from '../../../test/fixtures/protocols/responses/grammar.ts'
import { randomStream } from '../../../test/fixtures/protocols/responses/random-stream.ts'
import { reEmit } from '../../../test/fixtures/protocols/responses/re-emit.ts'
import type { Fields } from '../../lib/types.ts'

it('a re-emitted stream never throws and keeps the grammar for random frames', () => {
  const seed = 20_261_120
  const random = randomFrom(seed)
  let frames = 0
  let whole = 0
  let contentful = 0
  for (let stream = 0; stream < 3000; stream++) {
    const all = randomStream(random)
    frames += all.length
    try {
      const rawReasoning = stream % 2 === 0 ? 'as-it-comes' : 'as-summary'
      const result = reEmit(all, { rawReasoning, seals: stream % 3 === 0 ? 'shown' : 'hidden' })
      const items = expectGrammar(result.bytes, { whole: result.whole })
      for (const item of items) expectWorthShowing(item)
      if (rawReasoning === 'as-summary') expect(String(result.bytes)).not.toContain('event: response.reasoning_text')
      expect(result.adapter.state.heldBytes).toBeGreaterThanOrEqual(0)
      if (result.whole) {
        expect(result.adapter.state.heldBytes).toBe(0)
        whole++
      }
      if (items.length > 0) contentful++
    } catch (error) {
      throw new Error(`seed ${seed}, stream ${stream}: ${all.map(String).join('')}`, { cause: error })
    }
  }
  console.log(`re-emit: seed ${seed}, ${JSON.stringify({ streams: 3000, frames, whole, contentful })}`)
  expect(whole).toBeGreaterThan(700)
  expect(contentful).toBeGreaterThan(700)
})

/** It has text or a name, no empty part, and as a reasoning either summaries or raw text; or it has a seal. */
function expectWorthShowing(item: Fields): void {
  if (item.type !== 'message' && item.type !== 'reasoning') return
  const content = (item.content ?? []) as Fields[]
  const summary = item.type === 'reasoning' ? (item.summary as Fields[]) : []
  for (const { text, refusal, type } of [...content, ...summary])
    expect(type === 'refusal' ? refusal : text).not.toBe('')
  expect(content.length === 0 || summary.length === 0).toBe(true)
  expect(content.length + summary.length > 0 || item.type === 'reasoning').toBe(true)
}
