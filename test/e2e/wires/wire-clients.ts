import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { send } from '../../support/send-chat.ts'
import { readResponseStream, sendResponse } from '../../support/send-responses.ts'
import { readStream } from '../../support/read-stream.ts'

export type Item = Readonly<Fields>
export type Delivery = 'stream' | 'json'

/** What came of one request. */
export interface Said {
  /** The names of the tools that are called. */
  readonly calls: readonly string[]
  readonly words: string
  readonly requestId: string
  readonly usage: Fields
  readonly headers: Headers
}

/** A client in the middle of a conversation: it runs the tools that are called, and sends what they gave with its next words. */
export interface Talker {
  /** With the results that are waiting, and these words if there are any. */
  ask(model: string, words?: string): Promise<Said>
  /** Until nothing is called any more; what was called, and the last words. */
  loop(model: string, words?: string): Promise<{ readonly called: readonly string[]; readonly words: string }>
}

export type Manner = 'chat' | 'carrying' | 'by id' | 'by reference'

/** Nothing but the ids of calls; every item, sealed; the id of the last response; or references to what is stored. */
export const MANNERS: readonly Manner[] = ['chat', 'carrying', 'by id', 'by reference']

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

export function createTalker(place: Place, who: Who, manner: Manner, options: Options = {}): Talker {
  const { deliveries = ['stream', 'json'], more = { effort: 'low' } } = options
  let asked = 0
  const next = (): boolean => deliveries[asked++ % deliveries.length] === 'stream'
  const line = manner === 'chat' ? chatLine(more) : responsesLine(manner, more)
  const ask = async (model: string, words?: string): Promise<Said> => {
    const stream = next()
    const counts = manner === 'chat' && stream ? { stream_options: { include_usage: true } } : {}
    const body = { model, stream, ...counts, ...line.bodyWith(words) }
    const answer = await (manner === 'chat' ? send(place, who, body) : sendResponse(place, who, body))
    const text = await answer.clone().text()
    expect(answer.status, `${model}: ${text}`).toBe(200)
    expect(text).not.toMatch(NATIVE)
    const { headers } = answer
    return { ...(await line.hear(answer, stream)), headers, requestId: headers.get('x-request-id') ?? '' }
  }
  return {
    ask,
    async loop(model, words) {
      const called: string[] = []
      for (let said = await ask(model, words); ; said = await ask(model)) {
        if (said.calls.length === 0) return { called, words: said.words }
        called.push(...said.calls)
      }
    },
  }
}

type Heard = Pick<Said, 'calls' | 'words' | 'usage'>

interface Line {
  bodyWith(words: string | undefined): Fields
  hear(answer: Response, isStream: boolean): Promise<Heard>
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
    async hear(answer, isStream) {
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
  for (const { index, function: said, ...about } of chunks.flatMap((each) => each.choices[0]?.delta.tool_calls ?? [])) {
    const before = calls[index]?.function as { readonly arguments: string } | undefined
    const words = (before?.arguments ?? '') + (said.arguments ?? '')
    calls[index] = { ...calls[index], ...about, function: { ...before, ...said, arguments: words } }
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

function responsesLine(manner: Exclude<Manner, 'chat'>, { effort, ...more }: Fields): Line {
  let items: Item[] = []
  let previous: string | undefined
  let results = 0
  const asks = manner === 'carrying' ? { store: false, include: [SEALED] } : {}
  return {
    bodyWith(words) {
      if (words !== undefined) items.push({ type: 'message', role: 'user', content: words })
      const tools = TOOLS.map((each) => ({ type: 'function', ...each, strict: false }))
      const goesOn = manner === 'by id' && previous !== undefined ? { previous_response_id: previous } : {}
      return { input: [...items], tools, reasoning: { effort }, ...asks, ...goesOn, ...more }
    },
    async hear(answer, isStream) {
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
      if (manner === 'by id') items = []
      else items.push(...(manner === 'carrying' ? output : output.map(({ id }) => ({ type: 'item_reference', id }))))
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
