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
  healthy: (talk) => whole(talk),
  'no-usage': (talk) => whole(talk, { usage: null }),
  'zero-usage': (talk) => whole(talk, { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }),
  'huge-usage': (talk) => whole(talk, { usage: { prompt_tokens: 9e15, completion_tokens: 1e300 } }),
  'negative-usage': (talk) => whole(talk, { usage: { prompt_tokens: -11, completion_tokens: -7 } }),
  'words-as-usage': (talk) => whole(talk, { usage: { prompt_tokens: '11', completion_tokens: [] } }),
  'no-done': (talk) => whole(talk, { end: [] }),
  'double-done': (talk) => whole(talk, { end: ['[DONE]', '[DONE]'] }),
  'open-after-done': (talk) => whole(talk, { staysOpen: true }),

  async 'usage-on-every-chunk'(talk) {
    await talk.head()
    for (const [at, word] of WORDS.entries())
      await talk.frames(
        chunk(talk.model, { delta: { content: word }, more: { usage: { ...USAGE, completion_tokens: at + 1 } } }),
      )
    await talk.frames(chunk(talk.model, { finish: 'stop', more: { usage: USAGE } }), '[DONE]')
    await talk.end()
  },

  async 'cut-after-finish'(talk) {
    await begin(talk, 'after')
    await talk.frames(text(talk, ' to'), text(talk, ' you'), stop(talk))
    await delivered()
    talk.reset()
  },

  async 'hang-after-finish'(talk) {
    await begin(talk, 'after')
    await talk.frames(text(talk, ' to'), text(talk, ' you'), stop(talk))
  },

  async 'split-characters'(talk) {
    const words = 'Zażółć 🦜 gęślą 日本語'
    await talk.head()
    const bytes = Buffer.from(
      talk.delivery === 'json'
        ? JSON.stringify(reply(talk.model, { message: { content: words } }))
        : [text(talk, words), stop(talk), usageChunk(talk.model, USAGE)]
            .map((event) => `data: ${JSON.stringify(event)}\n\n`)
            .join(''),
    )
    for (const byte of bytes) await talk.bytes(Buffer.from([byte]))
    await talk.end()
  },

  async 'invalid-utf8'(talk) {
    await talk.head()
    const cut = (event: object) => Buffer.from(JSON.stringify(event).replace('@', '\u00ff'), 'latin1')
    if (talk.delivery === 'json') await talk.bytes(cut(reply(talk.model, { message: { content: 'a@z' } })))
    else {
      await talk.frames(chunk(talk.model, { delta: { role: 'assistant', content: '' } }))
      const frame = Buffer.concat([Buffer.from('data: '), cut(text(talk, 'a@z')), Buffer.from('\n\n')])
      await talk.bytes(frame)
      await talk.frames(stop(talk), usageChunk(talk.model, USAGE), '[DONE]')
    }
    await talk.end()
  },

  async 'interim-answers'(talk) {
    await talk.raw('HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n')
    await whole(talk)
  },

  async 'max-tokens-refused'(talk, stage) {
    if (!('max_tokens' in talk.asked)) return whole(talk)
    const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    await refuses(400, errorBody(message, { code: 'unsupported_parameter', param: 'max_tokens' }))(talk, stage)
  },

  async 'field-refused'(talk, stage) {
    if (!('seed' in talk.asked)) return whole(talk)
    await refuses(422, { detail: "Extra field: 'seed'" })(talk, stage)
  },

  async 'finish-left-out'(talk) {
    await talk.head()
    await talk.bytes(JSON.stringify(reply(talk.model, { finish: null })))
    await talk.end()
  },

  async 'beyond-the-cap'(talk) {
    await talk.head()
    const usage = { prompt_tokens: 11, completion_tokens: 100_000 }
    await talk.bytes(JSON.stringify(reply(talk.model, { more: { usage } })))
    await talk.end()
  },

  async 'odd-tool-calls'(talk) {
    await talk.head()
    if (talk.delivery === 'json') {
      const calls = [
        { function: { name: 'look_up', arguments: { city: 'Rome' } } },
        { id: 'given', function: { name: 'count', arguments: '{"n":2}' } },
      ]
      await talk.bytes(JSON.stringify(reply(talk.model, { message: { content: null, tool_calls: calls } })))
    } else {
      for (const delta of toolDeltas) await talk.frames(chunk(talk.model, { delta }))
      await talk.frames(stop(talk), usageChunk(talk.model, USAGE), '[DONE]')
    }
    await talk.end()
  },

  async 'comments-among-words'(talk) {
    await talk.head()
    await talk.bytes(': OPENROUTER PROCESSING\n\n:\n\nevent: message\nid: 7\nretry: 10\n')
    await talk.frames(text(talk, WHOLE_TEXT))
    await talk.bytes(': ping\n\nevent: ping\ndata:\n\n')
    await talk.frames(stop(talk), usageChunk(talk.model, USAGE), '[DONE]')
    await talk.end()
  },
} as const satisfies Record<string, Fault>
