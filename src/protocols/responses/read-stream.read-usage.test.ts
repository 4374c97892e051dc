import { describe, expect, it } from 'vitest'
import { RESPONSES_USAGE_ROWS } from '../../../test/fixtures/protocols/responses/usage-rows.ts'
import { inputTokensOf } from '../../model/price.ts'
import { createItemEventReader, readUsage } from './read-stream.ts'

const classesOf = (usage: ReturnType<typeof readUsage>) =>
  usage && [inputTokensOf(usage), usage.cachedInput, usage.cacheWrite, usage.output, usage.reasoning]

describe('the usage of a Responses lane', () => {
  it.each(RESPONSES_USAGE_ROWS)('of $dialect: $source', ({ reported, means }) => {
    expect(classesOf(readUsage(reported))).toEqual(means)
    expect(means[0] + means[3]).toBe(reported.total_tokens)
  })

  it('is taken from the last event, also of an answer that was cut or has failed', () => {
    const [{ reported, means }] = RESPONSES_USAGE_ROWS as [(typeof RESPONSES_USAGE_ROWS)[number]]
    for (const status of ['completed', 'incomplete', 'failed']) {
      const reader = createItemEventReader('lane')
      reader.read(
        Buffer.from(
          `data: ${JSON.stringify({ type: `response.${status}`, response: { status, output: [], usage: reported } })}\n\n`,
        ),
      )
      expect(classesOf(reader.state.usage)).toEqual(means)
    }
  })

  it('is read under the names of Chat too', () => {
    const details = { prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 2 } }
    const reported = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...details }
    expect(classesOf(readUsage(reported))).toEqual([10, 4, 0, 5, 2])
  })

  it('is none where it is missing or no numbers', () => {
    for (const reported of [undefined, null, 7, [], {}, { input_tokens: 1 }, { input_tokens: '1', output_tokens: 1 }]) {
      expect(readUsage(reported)).toBeUndefined()
    }
  })
})
