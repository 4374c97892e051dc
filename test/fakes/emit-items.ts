import { chunk, reply, USAGE, usageChunk } from './chat-frames.ts'
import type { Script } from './fault-upstream.ts'
import {
  answerBody,
  answerEvents,
  type SaidAnswer,
  type SaidEvent,
  type SaidItem,
  sayEvents,
} from './responses-frames.ts'
import type { Talk } from './answers.ts'

/** Whoever is asked in a wire answers in it, as a stream or not, and calls tools as they were declared. */
export const saysAnswer =
  (answer: SaidAnswer): Script =>
  async (talk) => {
    await talk.head()
    const called = { ...answer, items: answer.items.map((item) => asDeclared(item, talk.asked.tools)) }
    if ('input' in talk.asked) await sayInResponses(talk, called)
    else await sayInChat(talk, called)
    await talk.end()
  }

/** Its first words, and then what else. Only for streams. */
export const saysFirstWords =
  (answer: SaidAnswer, then: Script): Script =>
  async (talk) => {
    await talk.head()
    await sayEvents(talk, halvesOf(talk, answer)[0])
    await then(talk)
  }

/** Its first words, and the rest after a while. */
export const saysInTwo = (answer: SaidAnswer, between: Script): Script =>
  saysFirstWords(answer, async (talk) => {
    await between(talk)
    await sayEvents(talk, halvesOf(talk, answer)[1])
    await talk.frames('[DONE]')
    await talk.end()
  })

function halvesOf(talk: Talk, answer: SaidAnswer): [SaidEvent[], SaidEvent[]] {
  const isResponses = 'input' in talk.asked
  const events = isResponses ? answerEvents(talk.model, answer) : answerChunks(talk.model, answer)
  const end = isResponses ? 1 + events.findIndex(({ type }) => type?.endsWith('.delta')) : 2
  return [events.slice(0, end), events.slice(end)]
}

async function sayInResponses(talk: Talk, answer: SaidAnswer): Promise<void> {
  if (talk.delivery === 'json') return talk.bytes(JSON.stringify(answerBody(talk.model, answer)))
  await sayEvents(talk, answerEvents(talk.model, answer))
  await talk.frames('[DONE]')
}

/** Where namespaces and custom tools are not known, they were declared as functions with longer names. */
function asDeclared(item: SaidItem, tools: unknown): SaidItem {
  if (!isCall(item)) return item
  const { name, namespace, kind, words } = item
  const flat = namespace === undefined ? name : `${namespace}__${name}`
  const declared = Array.isArray(tools) ? tools.map((tool) => ({ type: tool.type, name: nameIn(tool) })) : []
  if (!declared.some((tool) => tool.type === 'function' && tool.name === flat)) return item
  const pieces = kind === 'custom' ? inPieces(JSON.stringify({ input: words.join('') })) : words
  return { kind: 'function', name: flat, words: pieces }
}

const nameIn = (tool: { readonly name?: unknown; readonly function?: { readonly name?: unknown } }): unknown =>
  tool.function?.name ?? tool.name

const inPieces = (text: string): readonly string[] => text.match(/[\s\S]{1,5}/g) ?? []

const CHAT_USAGE = { ...USAGE, completion_tokens_details: { reasoning_tokens: 2 } }

async function sayInChat(talk: Talk, answer: SaidAnswer): Promise<void> {
  const { items, usage = CHAT_USAGE } = answer
  if (talk.delivery === 'json') {
    const finish = finishOf(answer)
    return talk.bytes(JSON.stringify(reply(talk.model, { message: messageOf(items), finish, more: { usage } })))
  }
  await sayEvents(talk, answerChunks(talk.model, answer))
  await talk.frames('[DONE]')
}

const answerChunks = (model: string, answer: SaidAnswer): SaidEvent[] => [
  chunk(model, { delta: { role: 'assistant', content: '' } }),
  ...deltasOf(answer).map((delta) => chunk(model, { delta })),
  chunk(model, { finish: finishOf(answer) }),
  usageChunk(model, answer.usage ?? CHAT_USAGE),
]

function finishOf({ items, status }: SaidAnswer): string {
  if (status === 'incomplete') return 'length'
  return items.some(isCall) ? 'tool_calls' : 'stop'
}

type CallItem = Extract<SaidItem, { name: string }>
const isCall = (item: SaidItem): item is CallItem => 'name' in item

function deltasOf({ items, isInterleaved }: SaidAnswer): object[] {
  const calls = items.filter(isCall)
  const words = items.flatMap((item): object[] => {
    if (item.kind === 'reasoning') return item.summary.map((text) => ({ reasoning_content: text }))
    return item.kind === 'message' ? item.words.map((content) => ({ content })) : []
  })
  const starts = calls.map((call, index) => [
    {
      tool_calls: [
        { index, id: `call_theirs_${index}`, type: 'function', function: { name: call.name, arguments: '' } },
      ],
    },
  ])
  const pieces = calls.map((call, index) =>
    call.words.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
  )
  if (!isInterleaved) return [...words, ...calls.flatMap((_, at) => [...starts[at]!, ...pieces[at]!])]
  const rounds = Array.from({ length: Math.max(0, ...pieces.map(({ length }) => length)) }, (_, round) =>
    pieces.flatMap((each) => each.slice(round, round + 1)),
  )
  return [...words, ...starts.flat(), ...rounds.flat()]
}

function messageOf(items: readonly SaidItem[]): object {
  const text = items.flatMap((item) => (item.kind === 'message' ? item.words : [])).join('')
  const reasoning = items.flatMap((item) => (item.kind === 'reasoning' ? item.summary : [])).join('')
  const calls = items.filter(isCall).map((call, index) => ({
    ...{ id: `call_theirs_${index}`, type: 'function' },
    function: { name: call.name, arguments: call.words.join('') },
  }))
  return {
    content: text === '' ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
