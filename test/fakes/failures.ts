import { setTimeout as pause } from 'node:timers/promises'
import { chunk, errorBody, reply, USAGE, usageChunk, WORDS } from './chat-frames.ts'
import { delivered } from './delivered.ts'
import { begin, type Fault, HTML, refuses, stop, TOO_LONG, text } from './emit.ts'

const DRIP_MS = 40
const LINE_BYTES = 10 * 1024 * 1024
const WORDLESS_BYTES = 1024 * 1024

/** An error where an answer should be: a body with status 200, or an event of a stream. */
const saysError =
  (message: string, more: object = {}): Fault =>
  async (talk, stage) => {
    if (talk.delivery === 'json') return refuses(200, errorBody(message, more))(talk, stage)
    await begin(talk, stage)
    await talk.frames(errorBody(message, more), '[DONE]')
    await talk.end()
  }

/** What breaks an answer, or keeps it from beginning. */
export const FAILURES = {
  silence: async () => {},

  async hang(talk, stage) {
    await begin(talk, stage)
  },

  async reset(talk, stage) {
    await begin(talk, stage)
    await delivered()
    talk.reset()
  },

  async 'cut-off'(talk, stage) {
    await begin(talk, stage)
    talk.close()
  },

  async 'reset-unanswered'(talk) {
    talk.reset()
  },

  async truncated(talk, stage) {
    await begin(talk, stage)
    if (talk.delivery === 'stream') await talk.bytes('data: {"id":"chatcmpl-fake","choi')
    await talk.end()
  },

  async empty(talk) {
    await talk.head()
    await talk.end()
  },

  async garbage(talk, stage) {
    await begin(talk, stage)
    if (talk.delivery === 'stream') return talk.frames('{"choices": [ this is no JSON', text(talk, ' too late'))
    await talk.bytes('\u0000}{ this is no JSON')
    await talk.end()
  },

  async html(talk) {
    await talk.head(200, { 'content-type': 'text/html' })
    await talk.bytes(HTML)
    await talk.end()
  },

  'other-json': (talk, stage) => refuses(200, { result: 'ok' }, { 'content-type': 'application/json' })(talk, stage),

  'error-body': (talk, stage) =>
    refuses(200, errorBody('The model is overloaded.'), { 'content-type': 'application/json' })(talk, stage),
  'error-body-too-long': (talk, stage) =>
    refuses(200, errorBody(TOO_LONG), { 'content-type': 'application/json' })(talk, stage),

  'error-said': saysError('The server is overloaded.', { type: 'overloaded_error' }),
  'error-said-too-long': saysError(TOO_LONG, { code: 'context_length_exceeded' }),
  'error-said-throttled': saysError('Rate limit reached.', { code: 'rate_limit_exceeded' }),

  async 'error-among-words'(talk, stage) {
    await begin(talk, stage)
    // One write, and no end: what follows an error is not part of the answer, however it comes, and is not waited for.
    await talk.frames(errorBody('Broken.'), text(talk, ' too late'), stop(talk))
  },

  async 'endless-line'(talk, stage) {
    await begin(talk, stage)
    await delivered()
    await talk.bytes(talk.delivery === 'stream' ? `data: "${'x'.repeat(LINE_BYTES)}` : 'x'.repeat(LINE_BYTES))
  },

  async 'pings-only'(talk, stage) {
    await begin(talk, stage)
    while (!talk.socket.destroyed) {
      await talk.bytes(talk.delivery === 'stream' ? ': ping\n\n' : ' ')
      await pause(DRIP_MS)
    }
  },

  async 'slow-drip'(talk, stage) {
    await begin(talk, stage)
    while (!talk.socket.destroyed) {
      if (talk.delivery === 'json') await talk.bytes('"')
      else await talk.frames(text(talk, stage === 'after' ? '.' : ''))
      await pause(DRIP_MS)
    }
  },

  async 'finish-missing'(talk, stage) {
    await begin(talk, stage)
    await talk.frames(usageChunk(talk.model, USAGE), '[DONE]')
    await talk.end()
  },

  async 'finish-error'(talk, stage) {
    if (talk.delivery === 'json') {
      await talk.head()
      await talk.bytes(JSON.stringify(reply(talk.model, { finish: 'error' })))
    } else {
      await begin(talk, stage)
      await talk.frames(chunk(talk.model, { finish: 'error' }), '[DONE]')
    }
    await talk.end()
  },

  async runaway(talk) {
    await begin(talk, 'after')
    while (!talk.socket.destroyed) {
      await talk.frames(text(talk, 'and so on '.repeat(100)))
      await pause(1)
    }
  },

  async 'endless-without-a-word'(talk, stage) {
    await begin(talk, stage)
    while (!talk.socket.destroyed) {
      await talk.frames(chunk(talk.model, { delta: { content: '' }, more: { padding: 'x'.repeat(WORDLESS_BYTES) } }))
    }
  },

  async 'usage-then-cut'(talk) {
    await talk.head()
    const usage = { ...USAGE, completion_tokens: 2, total_tokens: USAGE.prompt_tokens + 2 }
    await talk.frames(chunk(talk.model, { delta: { content: WORDS[0] }, more: { usage } }))
    await delivered()
    talk.reset()
  },
} as const satisfies Record<string, Fault>
