import type { ProviderAnswer } from './answers.ts'
import { chunk, errorBody, reply, USAGE, usageChunk, WORDS } from './chat-frames.ts'

/** Before the fault nothing of the answer has been said, or its first words have (of a JSON answer: the first half). */
export type Stage = 'before' | 'after'

/** A fault, as a provider plays it. */
export type Fault = (providerAnswer: ProviderAnswer, stage: Stage) => Promise<void>

/** The beginning of a good answer, up to where the fault comes. */
export async function begin(providerAnswer: ProviderAnswer, stage: Stage): Promise<void> {
  await providerAnswer.head()
  if (providerAnswer.delivery === 'json') {
    if (stage === 'after') await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model)).slice(0, 120))
    return
  }
  await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: '' } }))
  if (stage === 'after') await providerAnswer.frames(text(providerAnswer, WORDS[0]), text(providerAnswer, WORDS[1]))
}

export const text = ({ model }: ProviderAnswer, content: string) => chunk(model, { delta: { content } })
export const stop = ({ model }: ProviderAnswer) => chunk(model, { finish: 'stop' })

interface Variation {
  readonly usage?: unknown
  readonly end?: readonly string[]
  readonly staysOpen?: boolean
}

/** A good answer, but for what varies. */
export async function whole(
  providerAnswer: ProviderAnswer,
  { usage = USAGE, end = ['[DONE]'], staysOpen }: Variation = {},
): Promise<void> {
  await providerAnswer.head()
  if (providerAnswer.delivery === 'json') {
    await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model, { more: { usage } })))
  } else {
    await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: '' } }))
    for (const word of WORDS) await providerAnswer.frames(text(providerAnswer, word))
    await providerAnswer.frames(stop(providerAnswer), usageChunk(providerAnswer.model, usage), ...end)
  }
  if (!staysOpen) await providerAnswer.end()
}

export const refuses =
  (status: number, body: object | string = errorBody('no'), headers: Readonly<Record<string, string>> = {}): Fault =>
  async (providerAnswer) => {
    await providerAnswer.head(status, headers)
    await providerAnswer.bytes(typeof body === 'string' ? body : JSON.stringify(body))
    await providerAnswer.end()
  }

export const TOO_LONG = "This model's maximum context length is 8192 tokens."
export const HTML = '<!doctype html><html><body><h1>Welcome to the proxy</h1></body></html>'
