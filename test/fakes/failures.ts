import { setTimeout as pause } from 'node:timers/promises'
import { chunk, errorBody, reply, USAGE, usageChunk, WORDS } from './chat-frames.ts'
import { delivered } from './delivered.ts'
import { begin, type Fault, HTML, refuses, stop, TOO_LONG, text } from './emit.ts'

const DRIP_MS = 40
const LINE_BYTES = 10 * 1024 * 1024
const WORDLESS_BYTES = 1024 * 1024

/** An error where an answer should be: a body with status 200, or an event of a stream. */
const emitsError =
  (message: string, more: object = {}): Fault =>
  async (providerAnswer, stage) => {
    if (providerAnswer.delivery === 'json') return refuses(200, errorBody(message, more))(providerAnswer, stage)
    await begin(providerAnswer, stage)
    await providerAnswer.frames(errorBody(message, more), '[DONE]')
    await providerAnswer.end()
  }

/** What breaks an answer, or keeps it from beginning. */
export const FAILURES = {
  silence: async () => {},

  async hang(providerAnswer, stage) {
    await begin(providerAnswer, stage)
  },

  async reset(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    await delivered()
    providerAnswer.reset()
  },

  async 'cut-off'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    providerAnswer.close()
  },

  async 'reset-unanswered'(providerAnswer) {
    providerAnswer.reset()
  },

  async truncated(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    if (providerAnswer.delivery === 'stream') await providerAnswer.bytes('data: {"id":"chatcmpl-fake","choi')
    await providerAnswer.end()
  },

  async empty(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.end()
  },

  async garbage(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    if (providerAnswer.delivery === 'stream')
      return providerAnswer.frames('{"choices": [ this is no JSON', text(providerAnswer, ' too late'))
    await providerAnswer.bytes('\u0000}{ this is no JSON')
    await providerAnswer.end()
  },

  async html(providerAnswer) {
    await providerAnswer.head(200, { 'content-type': 'text/html' })
    await providerAnswer.bytes(HTML)
    await providerAnswer.end()
  },

  'other-json': (providerAnswer, stage) =>
    refuses(200, { result: 'ok' }, { 'content-type': 'application/json' })(providerAnswer, stage),

  'error-body': (providerAnswer, stage) =>
    refuses(200, errorBody('The model is overloaded.'), { 'content-type': 'application/json' })(providerAnswer, stage),
  'error-body-too-long': (providerAnswer, stage) =>
    refuses(200, errorBody(TOO_LONG), { 'content-type': 'application/json' })(providerAnswer, stage),

  'error-said': emitsError('The server is overloaded.', { type: 'overloaded_error' }),
  'error-said-too-long': emitsError(TOO_LONG, { code: 'context_length_exceeded' }),
  'error-said-throttled': emitsError('Rate limit reached.', { code: 'rate_limit_exceeded' }),

  async 'error-among-words'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    // One write, and no end: what follows an error is not part of the answer, however it comes, and is not waited for.
    await providerAnswer.frames(errorBody('Broken.'), text(providerAnswer, ' too late'), stop(providerAnswer))
  },

  async 'endless-line'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    await delivered()
    await providerAnswer.bytes(
      providerAnswer.delivery === 'stream' ? `data: "${'x'.repeat(LINE_BYTES)}` : 'x'.repeat(LINE_BYTES),
    )
  },

  async 'pings-only'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    while (!providerAnswer.socket.destroyed) {
      await providerAnswer.bytes(providerAnswer.delivery === 'stream' ? ': ping\n\n' : ' ')
      await pause(DRIP_MS)
    }
  },

  async 'slow-drip'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    while (!providerAnswer.socket.destroyed) {
      if (providerAnswer.delivery === 'json') await providerAnswer.bytes('"')
      else await providerAnswer.frames(text(providerAnswer, stage === 'after' ? '.' : ''))
      await pause(DRIP_MS)
    }
  },

  async 'finish-missing'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    await providerAnswer.frames(usageChunk(providerAnswer.model, USAGE), '[DONE]')
    await providerAnswer.end()
  },

  async 'finish-error'(providerAnswer, stage) {
    if (providerAnswer.delivery === 'json') {
      await providerAnswer.head()
      await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model, { finish: 'error' })))
    } else {
      await begin(providerAnswer, stage)
      await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'error' }), '[DONE]')
    }
    await providerAnswer.end()
  },

  async runaway(providerAnswer) {
    await begin(providerAnswer, 'after')
    while (!providerAnswer.socket.destroyed) {
      await providerAnswer.frames(text(providerAnswer, 'and so on '.repeat(100)))
      await pause(1)
    }
  },

  async 'endless-without-a-word'(providerAnswer, stage) {
    await begin(providerAnswer, stage)
    while (!providerAnswer.socket.destroyed) {
      await providerAnswer.frames(
        chunk(providerAnswer.model, { delta: { content: '' }, more: { padding: 'x'.repeat(WORDLESS_BYTES) } }),
      )
    }
  },

  async 'usage-then-cut'(providerAnswer) {
    await providerAnswer.head()
    const usage = { ...USAGE, completion_tokens: 2, total_tokens: USAGE.prompt_tokens + 2 }
    await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: WORDS[0] }, more: { usage } }))
    await delivered()
    providerAnswer.reset()
  },
} as const satisfies Record<string, Fault>
