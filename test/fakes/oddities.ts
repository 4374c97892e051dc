import { chunk, errorBody, reply, USAGE, usageChunk, WHOLE_TEXT, WORDS } from './chat-frames.ts'
import { delivered } from './delivered.ts'
import { begin, type Fault, refuses, stop, text, whole } from './emit.ts'

const toolDeltas = [
  { tool_calls: [{ function: { name: 'look_up', arguments: '{"city":' } }] },
  { tool_calls: [{ function: { arguments: '"Rome"}' } }] },
  { tool_calls: [{ index: 5, id: 'given', function: { arguments: '{"n"' } }] },
  { tool_calls: [{ index: 5, id: '', function: { name: 'count', arguments: ':2}' } }] },
]

/** What is not as it should be, and does no harm. */
export const ODDITIES = {
  healthy: (providerAnswer) => whole(providerAnswer),
  'no-usage': (providerAnswer) => whole(providerAnswer, { usage: null }),
  'zero-usage': (providerAnswer) =>
    whole(providerAnswer, { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }),
  'huge-usage': (providerAnswer) => whole(providerAnswer, { usage: { prompt_tokens: 9e15, completion_tokens: 1e300 } }),
  'negative-usage': (providerAnswer) => whole(providerAnswer, { usage: { prompt_tokens: -11, completion_tokens: -7 } }),
  'words-as-usage': (providerAnswer) =>
    whole(providerAnswer, { usage: { prompt_tokens: '11', completion_tokens: [] } }),
  'no-done': (providerAnswer) => whole(providerAnswer, { end: [] }),
  'double-done': (providerAnswer) => whole(providerAnswer, { end: ['[DONE]', '[DONE]'] }),
  'open-after-done': (providerAnswer) => whole(providerAnswer, { staysOpen: true }),

  async 'usage-on-every-chunk'(providerAnswer) {
    await providerAnswer.head()
    for (const [at, word] of WORDS.entries())
      await providerAnswer.frames(
        chunk(providerAnswer.model, {
          delta: { content: word },
          more: { usage: { ...USAGE, completion_tokens: at + 1 } },
        }),
      )
    await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop', more: { usage: USAGE } }), '[DONE]')
    await providerAnswer.end()
  },

  async 'cut-after-finish'(providerAnswer) {
    await begin(providerAnswer, 'after')
    await providerAnswer.frames(text(providerAnswer, ' to'), text(providerAnswer, ' you'), stop(providerAnswer))
    await delivered()
    providerAnswer.reset()
  },

  async 'hang-after-finish'(providerAnswer) {
    await begin(providerAnswer, 'after')
    await providerAnswer.frames(text(providerAnswer, ' to'), text(providerAnswer, ' you'), stop(providerAnswer))
  },

  async 'split-characters'(providerAnswer) {
    const words = 'Zażółć 🦜 gęślą 日本語'
    await providerAnswer.head()
    const bytes = Buffer.from(
      providerAnswer.delivery === 'json'
        ? JSON.stringify(reply(providerAnswer.model, { message: { content: words } }))
        : [text(providerAnswer, words), stop(providerAnswer), usageChunk(providerAnswer.model, USAGE)]
            .map((event) => `data: ${JSON.stringify(event)}\n\n`)
            .join(''),
    )
    for (const byte of bytes) await providerAnswer.bytes(Buffer.from([byte]))
    await providerAnswer.end()
  },

  async 'invalid-utf8'(providerAnswer) {
    await providerAnswer.head()
    const cut = (event: object) => Buffer.from(JSON.stringify(event).replace('@', '\u00ff'), 'latin1')
    if (providerAnswer.delivery === 'json')
      await providerAnswer.bytes(cut(reply(providerAnswer.model, { message: { content: 'a@z' } })))
    else {
      await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: '' } }))
      const frame = Buffer.concat([Buffer.from('data: '), cut(text(providerAnswer, 'a@z')), Buffer.from('\n\n')])
      await providerAnswer.bytes(frame)
      await providerAnswer.frames(stop(providerAnswer), usageChunk(providerAnswer.model, USAGE), '[DONE]')
    }
    await providerAnswer.end()
  },

  async 'interim-answers'(providerAnswer) {
    await providerAnswer.raw(
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n',
    )
    await whole(providerAnswer)
  },

  async 'max-tokens-refused'(providerAnswer, stage) {
    if (!('max_tokens' in providerAnswer.receivedRequest)) return whole(providerAnswer)
    const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    await refuses(400, errorBody(message, { code: 'unsupported_parameter', param: 'max_tokens' }))(
      providerAnswer,
      stage,
    )
  },

  async 'field-refused'(providerAnswer, stage) {
    if (!('seed' in providerAnswer.receivedRequest)) return whole(providerAnswer)
    await refuses(422, { detail: "Extra field: 'seed'" })(providerAnswer, stage)
  },

  async 'finish-left-out'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model, { finish: null })))
    await providerAnswer.end()
  },

  async 'beyond-the-cap'(providerAnswer) {
    await providerAnswer.head()
    const usage = { prompt_tokens: 11, completion_tokens: 100_000 }
    await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model, { more: { usage } })))
    await providerAnswer.end()
  },

  async 'odd-tool-calls'(providerAnswer) {
    await providerAnswer.head()
    if (providerAnswer.delivery === 'json') {
      const calls = [
        { function: { name: 'look_up', arguments: { city: 'Rome' } } },
        { id: 'given', function: { name: 'count', arguments: '{"n":2}' } },
      ]
      await providerAnswer.bytes(
        JSON.stringify(reply(providerAnswer.model, { message: { content: null, tool_calls: calls } })),
      )
    } else {
      for (const delta of toolDeltas) await providerAnswer.frames(chunk(providerAnswer.model, { delta }))
      await providerAnswer.frames(stop(providerAnswer), usageChunk(providerAnswer.model, USAGE), '[DONE]')
    }
    await providerAnswer.end()
  },

  async 'comments-among-words'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.bytes(': OPENROUTER PROCESSING\n\n:\n\nevent: message\nid: 7\nretry: 10\n')
    await providerAnswer.frames(text(providerAnswer, WHOLE_TEXT))
    await providerAnswer.bytes(': ping\n\nevent: ping\ndata:\n\n')
    await providerAnswer.frames(stop(providerAnswer), usageChunk(providerAnswer.model, USAGE), '[DONE]')
    await providerAnswer.end()
  },
} as const satisfies Record<string, Fault>
