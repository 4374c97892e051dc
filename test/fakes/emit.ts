import { chunk, errorBody, reply, USAGE, usageChunk, WORDS } from './chat-frames.ts'
import type { Talk } from './answers.ts'

/** Before the fault nothing of the answer has been said, or its first words have (of a JSON answer: the first half). */
export type Stage = 'before' | 'after'

/** A fault, as a provider plays it. */
export type Fault = (talk: Talk, stage: Stage) => Promise<void>

/** The beginning of a good answer, up to where the fault comes. */
export async function begin(talk: Talk, stage: Stage): Promise<void> {
  await talk.head()
  if (talk.delivery === 'json') {
    if (stage === 'after') await talk.bytes(JSON.stringify(reply(talk.model)).slice(0, 120))
    return
  }
  await talk.frames(chunk(talk.model, { delta: { role: 'assistant', content: '' } }))
  if (stage === 'after') await talk.frames(text(talk, WORDS[0]), text(talk, WORDS[1]))
}

export const text = ({ model }: Talk, content: string) => chunk(model, { delta: { content } })
export const stop = ({ model }: Talk) => chunk(model, { finish: 'stop' })

interface Variation {
  readonly usage?: unknown
  readonly end?: readonly string[]
  readonly staysOpen?: boolean
}

/** A good answer, but for what varies. */
export async function whole(talk: Talk, { usage = USAGE, end = ['[DONE]'], staysOpen }: Variation = {}): Promise<void> {
  await talk.head()
  if (talk.delivery === 'json') {
    await talk.bytes(JSON.stringify(reply(talk.model, { more: { usage } })))
  } else {
    await talk.frames(chunk(talk.model, { delta: { role: 'assistant', content: '' } }))
    for (const word of WORDS) await talk.frames(text(talk, word))
    await talk.frames(stop(talk), usageChunk(talk.model, usage), ...end)
  }
  if (!staysOpen) await talk.end()
}

export const refuses =
  (status: number, body: object | string = errorBody('no'), headers: Readonly<Record<string, string>> = {}): Fault =>
  async (talk) => {
    await talk.head(status, headers)
    await talk.bytes(typeof body === 'string' ? body : JSON.stringify(body))
    await talk.end()
  }

export const TOO_LONG = "This model's maximum context length is 8192 tokens."
export const HTML = '<!doctype html><html><body><h1>Welcome to the proxy</h1></body></html>'
