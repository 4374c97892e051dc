import { describe, expect, it } from 'vitest'
import { conversationOf, message } from '../../../test/fixtures/protocols/conversation.ts'
import { emitted, ends, sse } from '../../../test/fixtures/protocols/gemini/lane.ts'
import { laneTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import type { Upstream } from '../../catalog/catalog.ts'
import { effortOf } from '../../model/effort.ts'
import { providerEndpointOf } from '../../providers/provider-endpoints.ts'
import { DONE_FRAME } from '../sse/frames.ts'
import { codecs } from '../wires.ts'

describe('a lane of wire gemini', () => {
  it('is called at the address of its model and mode, with its key in a header', () => {
    const endpoint = providerEndpointOf({ wire: 'gemini', dialect: 'google' } as Upstream)!
    expect(endpoint.path({ model: 'gemini-3-pro', delivery: 'stream' })).toBe(
      '/models/gemini-3-pro:streamGenerateContent?alt=sse',
    )
    expect(endpoint.path({ model: 'gemini-3-pro', delivery: 'json' })).toBe('/models/gemini-3-pro:generateContent')
    expect(endpoint.path({ model: 'a b/c:d?e#f', delivery: 'json' })).toBe(
      '/models/a%20b/c%3Ad%3Fe%23f:generateContent',
    )
    expect(endpoint.credential('AIza1')).toEqual(['x-goog-api-key', 'AIza1'])
    expect(endpoint.headers).toBeUndefined()
  })

  it('has one row, which writes its requests and reads its answers', () => {
    const dialect = codecs.dialect('gemini', 'google')
    expect([dialect.wire, dialect.name, dialect.hidesReasoning, dialect.cannot]).toEqual([
      'gemini',
      'google',
      true,
      ['n'],
    ])
    const target = laneTarget(dialect, { effort: effortOf('high') })
    const { body } = codecs.writeRequest(conversationOf([message('user', 'q')]), target)
    expect(JSON.parse(JSON.stringify(body))).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'q' }] }],
      generationConfig: { maxOutputTokens: 50, thinkingConfig: { thinkingLevel: 'high' } },
    })
    const reader = codecs.createEventReader({ dialect, origin: 'lane' }, countedIds())
    const frames = [sse(emitted([{ text: 'Hi' }])), sse(ends()), DONE_FRAME]
    expect(frames.flatMap((frame) => reader.read(frame))).toEqual([
      { type: 'text-delta', text: 'Hi' },
      { type: 'turn-end', reason: 'stop' },
    ])
  })
})
