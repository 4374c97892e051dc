import type { Fields } from '../../src/lib/is-object.ts'
import { type Address, type Answer, answerOf, type SendOptions, send } from './ask.ts'
import { eventsOf, type StreamedEvent } from './responses-grammar.ts'

type Who = { readonly key: string }

/** A streamed response, taken apart. Its grammar is judged already: `check-every-response.ts` sees every stream. */
export interface StreamedResponse {
  readonly status: number
  readonly requestId: string
  readonly headers: Headers
  readonly text: string
  readonly events: readonly StreamedEvent[]
  /** As the first event has it. */
  readonly id: string
  /** As the last event has it. */
  // biome-ignore lint/suspicious/noExplicitAny: a response is judged by what the test expects of it
  readonly response: any
}

/** `swift` and a greeting unless the test says otherwise. */
const asked = (body: object): object => ({ model: 'swift', input: 'Good day', ...body })

export const sendResponse = (server: Address, who: Who, body: object, options: SendOptions = {}) =>
  send(server, who, asked(body), { path: '/responses', ...options })

/** A request whose answer is awaited whole, as JSON. */
export const respond = async (server: Address, who: Who, body: object = {}, options: SendOptions = {}) =>
  answerOf(await sendResponse(server, who, body, options))

export async function streamResponse(
  server: Address,
  who: Who,
  body: object = {},
  options: SendOptions = {},
): Promise<StreamedResponse> {
  return readResponseStream(await sendResponse(server, who, { stream: true, ...body }, options))
}

export async function readResponseStream(answer: Response): Promise<StreamedResponse> {
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`)
  const events = eventsOf(text)
  const response = events.at(-1)?.response
  return {
    status: answer.status,
    requestId: answer.headers.get('x-request-id') ?? '',
    headers: answer.headers,
    text,
    events,
    id: String((events[0]?.response as Fields | undefined)?.id),
    response,
  }
}

/** Gives up after the first events, as many as `enough` wants. */
export async function readSome(answer: Response, enough: (events: readonly StreamedEvent[]) => boolean) {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const whole = eventsOf(text.slice(0, text.lastIndexOf('\n\n') + 2))
    if (enough(whole)) return { events: whole, reader, text }
    const read = await reader.read()
    if (read.done) throw new Error(`the stream ended before there was enough of it: ${text}`)
    text += read.value
  }
}

export async function deleteResponse(server: Address, who: Who, id: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${who.key}` }
  return answerOf(await fetch(`${server.baseUrl}/responses/${id}`, { method: 'DELETE', headers }))
}
