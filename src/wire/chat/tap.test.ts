import { describe, expect, it } from 'vitest'
import { createChatTap } from './tap.ts'

const frame = (json: unknown) => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)
const chunk = (delta: object, finish: string | null = null, over: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'lane',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...over,
})

const tapOf = () => createChatTap({ laneModel: 'lane', publicModel: 'public' })

describe('the chat tap', () => {
  it('passes a frame on with only the model renamed, however the text looks', () => {
    const text = '"model":"lane" \\ \n 漢字'
    const bytes = frame(chunk({ content: text }))
    const tapped = tapOf().read(bytes)
    expect(String(tapped.bytes)).toBe(String(bytes).replace('"model":"lane","choices"', '"model":"public","choices"'))
    expect(tapped.isContent).toBe(true)
  })

  it('gives the same buffer back when nothing is to change', () => {
    const bytes = frame(chunk({ content: 'x' }))
    expect(createChatTap({ laneModel: 'lane', publicModel: 'lane' }).read(bytes).bytes).toBe(bytes)
  })

  it('renames where a server writes the member with spaces', () => {
    const bytes = Buffer.from(
      'data: {"id":"c1", "model": "lane", "choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n',
    )
    expect(JSON.parse(String(tapOf().read(bytes).bytes).slice(6))).toMatchObject({ model: 'public' })
  })

  it('knows content from a head: role, empty text and finish are none', () => {
    const tap = tapOf()
    expect(tap.read(frame(chunk({ role: 'assistant', content: '' }))).isContent).toBe(false)
    expect(tap.read(frame(chunk({ reasoning_content: 'hm' }))).isContent).toBe(true)
    expect(
      tap.read(frame(chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }))).isContent,
    ).toBe(true)
    expect(tap.read(frame(chunk({}, 'stop'))).isContent).toBe(false)
    expect(tap.heard.finished).toBe(true)
    expect(tap.heard.outputBytes).toBe(3)
  })

  it('keeps the usage chunk and [DONE] back', () => {
    const tap = tapOf()
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 4,
      prompt_tokens_details: { cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 1 },
    }
    expect(tap.read(frame({ ...chunk({}), choices: [], usage })).bytes).toBeUndefined()
    expect(tap.read(Buffer.from('data: [DONE]\n\n')).bytes).toBeUndefined()
    expect(tap.heard).toMatchObject({
      done: true,
      usage: { uncachedInput: 4, cachedInput: 6, output: 4, reasoning: 1 },
    })
  })

  it('takes usage from a content chunk without showing it there', () => {
    const tap = tapOf()
    const tapped = tap.read(
      frame(chunk({ content: 'x' }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 0 } })),
    )
    expect(JSON.parse(String(tapped.bytes).slice(6))).toMatchObject({ model: 'public', usage: null })
    expect(tap.heard.usage).toMatchObject({ uncachedInput: 1, output: 0 })
  })

  it('believes a usage of zero, and none that is not numbers', () => {
    const tap = tapOf()
    tap.read(frame({ ...chunk({}), choices: [], usage: { prompt_tokens: 'many', completion_tokens: null } }))
    expect(tap.heard.usage).toBeUndefined()
    tap.read(frame({ ...chunk({}), choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } }))
    expect(tap.heard.usage).toMatchObject({ uncachedInput: 0, output: 0 })
  })

  it.each([
    [{ error: { message: 'boom', type: 'server_error', code: 500 } }, { message: 'boom', code: '500' }],
    [{ error: 'boom' }, { message: 'boom', code: undefined }],
    [
      { error: {}, choices: [] },
      { message: 'The provider reported an error.', code: undefined },
    ],
  ])('hears the error in %j and passes nothing on', (json, said) => {
    const tap = tapOf()
    expect(tap.read(frame(json)).bytes).toBeUndefined()
    expect(tap.heard.error).toEqual(said)
  })

  it('drops comments and empty frames, and notes garbage', () => {
    const tap = tapOf()
    expect(tap.read(Buffer.from(': ping\n\n')).bytes).toBeUndefined()
    expect(tap.heard.garbled).toBe(false)
    tap.read(Buffer.from('data: {"choices":\n\n'))
    expect(tap.heard.garbled).toBe(true)
  })

  it('survives deltas of any shape', () => {
    const tap = tapOf()
    for (const odd of [
      null,
      1,
      'x',
      [],
      { delta: null },
      { delta: { content: 5, tool_calls: 'x' } },
      { delta: { tool_calls: [null, {}] } },
    ]) {
      expect(() => tap.read(frame({ choices: [odd] }))).not.toThrow()
    }
    expect(() => tap.read(frame({ choices: 'x' }))).not.toThrow()
    expect(() => tap.read(frame([]))).not.toThrow()
  })
})
