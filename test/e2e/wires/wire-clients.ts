import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { readStream } from '../../support/read-stream.ts'
import { send } from '../../support/send-chat.ts'
import { readResponseStream, sendResponse } from '../../support/send-responses.ts'

export type Item = Readonly<Fields>
export type Delivery = 'stream' | 'json'

/** What came of one request. */
export interface TurnOutput {
  /** The names of the tools that are called. */
  readonly calls: readonly string[]
  readonly words: string
  readonly requestId: string
  readonly usage: Fields
  readonly headers: Headers
}

/** A client in the middle of a conversation: it runs the tools that are called, and sends what they gave with its next words. */
export interface ConversationClient {
  /** With the results that are waiting, and these words if there are any. */
  sendTurn(model: string, words?: string): Promise<TurnOutput>
  /** Until nothing is called any more; what was called, and the last words. */
  loop(model: string, words?: string): Promise<{ readonly called: readonly string[]; readonly words: string }>
}

export type ClientMode = 'chat' | 'carrying' | 'by id' | 'by reference'

/** Nothing but the ids of calls; every item, sealed; the id of the last response; or references to what is stored. */
export const CLIENT_MODES: readonly ClientMode[] = ['chat', 'carrying', 'by id', 'by reference']

interface Place {
  readonly baseUrl: string
}
type Who = { readonly key: string }

const parameters = { type: 'object', properties: { q: { type: 'string' } } }
const TOOLS = ['look_up', 'ping', 'list', 'note'].map((name) => ({ name, parameters }))

/** Marks of what providers have sealed or signed, which no client may ever read. */
const NATIVE = /(?:sealed|signed)-by|thoughtSignature|"signature"/

interface Options {
  /** Of the answers, in turn. */
  readonly deliveries?: readonly Delivery[]
  /** What every request says besides. */
  readonly more?: Fields
}

export function createConversationClient(
  place: Place,
  who: Who,
  mode: ClientMode,
  options: Options = {},
): ConversationClient {
  const { deliveries = ['stream', 'json'], more = { effort: 'low' } } = options
  let receivedRequest = 0
  const next = (): boolean => deliveries[receivedRequest++ % deliveries.length] === 'stream'
  const line = mode === 'chat' ? chatLine(more) : responsesLine(mode, more)
  const sendTurn = async (model: string, words?: string): Promise<TurnOutput> => {
    const stream = next()
    const counts = mode === 'chat' && stream ? { stream_options: { include_usage: true } } : {}
    const body = { model, stream, ...counts, ...line.bodyWith(words) }
    const answer = await (mode === 'chat' ? send(place, who, body) : sendResponse(place, who, body))
    const text = await answer.clone().text()
    expect(answer.status, `${model}: ${text}`).toBe(200)
    expect(text).not.toMatch(NATIVE)
    const { headers } = answer
    return { ...(await line.parseOutput(answer, stream)), headers, requestId: headers.get('x-request-id') ?? '' }
  }
  return {
    sendTurn,
    async loop(model, words) {
      const called: string[] = []
      for (let emitted = await sendTurn(model, words); ; emitted = await sendTurn(model)) {
        if (emitted.calls.length === 0) return { called, words: emitted.words }
        called.push(...emitted.calls)
      }
    },
  }
}

type Parsed = Pick<TurnOutput, 'calls' | 'words' | 'usage'>

interface Line {
  bodyWith(words: string | undefined): Fields
  parseOutput(answer: Response, isStream: boolean): Promise<Parsed>
}

/** What a tool gives: no two results are alike, so that none can take the place of another. */
const resultOf = (name: unknown, at: number): string => `${name}-gave-${at}`

function chatLine({ effort, ...more }: Fields): Line {
  const messages: Item[] = []
  let results = 0
  return {
    bodyWith(words) {
      if (words !== undefined) messages.push({ role: 'user', content: words })
      const tools = TOOLS.map((each) => ({ type: 'function', function: each }))
      return { messages, tools, reasoning_effort: effort, ...more }
    },
    async parseOutput(answer, isStream) {
      const { message, usage } = isStream ? await chatStream(answer) : await chatJson(answer)
      const calls = (message.tool_calls ?? []) as readonly { readonly id: string; readonly function: Fields }[]
      const named = calls.map(({ id, function: { name } }) => ({ id, name: String(name) }))
      messages.push(message)
      for (const { id, name } of named) {
        messages.push({ role: 'tool', tool_call_id: id, content: resultOf(name, results++) })
      }
      return { calls: named.map(({ name }) => name), words: String(message.content ?? ''), usage }
    },
  }
}

/** As SDKs have it: an answer of calls alone has no content. */
async function chatStream(answer: Response): Promise<{ message: Item; usage: Fields }> {
  const { chunks, text } = await readStream(answer)
  const calls: Fields[] = []
  for (const { index, function: emitted, ...about } of chunks.flatMap(
    (each) => each.choices[0]?.delta.tool_calls ?? [],
  )) {
    const before = calls[index]?.function as { readonly arguments: string } | undefined
    const words = (before?.arguments ?? '') + (emitted.arguments ?? '')
    calls[index] = { ...calls[index], ...about, function: { ...before, ...emitted, arguments: words } }
  }
  const message = { role: 'assistant', content: text === '' ? null : text }
  const usage = chunks.findLast((chunk) => chunk.usage)?.usage ?? {}
  return { message: calls.length === 0 ? message : { ...message, tool_calls: calls }, usage }
}

async function chatJson(answer: Response): Promise<{ message: Item; usage: Fields }> {
  const { choices, usage } = (await answer.json()) as { choices: [{ message: Item }]; usage: Fields }
  return { message: choices[0].message, usage }
}

const SEALED = 'reasoning.encrypted_content'

function responsesLine(mode: Exclude<ClientMode, 'chat'>, { effort, ...more }: Fields): Line {
  let items: Item[] = []
  let previous: string | undefined
  let results = 0
  const sends = mode === 'carrying' ? { store: false, include: [SEALED] } : {}
  return {
    bodyWith(words) {
      if (words !== undefined) items.push({ type: 'message', role: 'user', content: words })
      const tools = TOOLS.map((each) => ({ type: 'function', ...each, strict: false }))
      const goesOn = mode === 'by id' && previous !== undefined ? { previous_response_id: previous } : {}
      return { input: [...items], tools, reasoning: { effort }, ...sends, ...goesOn, ...more }
    },
    async parseOutput(answer, isStream) {
      const response = (isStream ? (await readResponseStream(answer)).response : await answer.json()) as {
        readonly id: string
        readonly status: string
        readonly output: readonly Item[]
        readonly usage: Fields
      }
      expect(response.status, JSON.stringify(response)).toBe('completed')
      const { output, usage } = response
      previous = response.id
      const calls = output.filter(({ type }) => type === 'function_call')
      if (mode === 'by id') items = []
      else items.push(...(mode === 'carrying' ? output : output.map(({ id }) => ({ type: 'item_reference', id }))))
      for (const { call_id, name } of calls) {
        items.push({ type: 'function_call_output', call_id, output: resultOf(name, results++) })
      }
      return { calls: calls.map(({ name }) => String(name)), words: wordsOf(output), usage }
    },
  }
}

const wordsOf = (output: readonly Item[]): string =>
  output
    .flatMap(({ type, content }) => (type === 'message' ? (content as readonly { readonly text: string }[]) : []))
    .map(({ text }) => text)
    .join('')
