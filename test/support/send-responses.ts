import type { Fields } from '../../src/lib/types.ts'
import { eventsOf, type StreamedEvent } from './responses-grammar.ts'
import { type Address, type Answer, answerOf, type SendOptions, send } from './send-chat.ts'

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
const receivedRequest = (body: object): object => ({ model: 'swift', input: 'Good day', ...body })

export const sendResponse = (server: Address, who: Who, body: object, options: SendOptions = {}) =>
  send(server, who, receivedRequest(body), { path: '/responses', ...options })

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

/** A stream that is read in steps. */
export interface ResponseReading {
  /** Everything so far. */
  readonly text: string
  /** Reads until there is as much as `enough` wants. */
  until(enough: (events: readonly StreamedEvent[]) => boolean): Promise<readonly StreamedEvent[]>
  /** The rest; what it all came to. */
  rest(): Promise<readonly StreamedEvent[]>
  hangUp(): Promise<void>
}

export function beginReading(answer: Response): ResponseReading {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  const reading = {
    text: '',
    async until(enough: (events: readonly StreamedEvent[]) => boolean) {
      for (;;) {
        const events = wholeEvents(reading.text)
        if (enough(events)) return events
        if (!(await readOn())) throw new Error(`the stream ended before there was enough of it: ${reading.text}`)
      }
    },
    async rest() {
      while (await readOn());
      return wholeEvents(reading.text)
    },
    hangUp: () => reader.cancel(),
  }
  const readOn = async (): Promise<boolean> => {
    const { done, value } = await reader.read()
    reading.text += value ?? ''
    return !done
  }
  return reading
}

const wholeEvents = (text: string): StreamedEvent[] => {
  const end = text.lastIndexOf('\n\n')
  return end === -1 ? [] : eventsOf(text.slice(0, end + 2))
}

export async function deleteResponse(server: Address, who: Who, id: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${who.key}` }
  return answerOf(await fetch(`${server.baseUrl}/responses/${id}`, { method: 'DELETE', headers }))
}
