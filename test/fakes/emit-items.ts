import type { ProviderAnswer } from './answers.ts'
import { chunk, reply, USAGE, usageChunk } from './chat-frames.ts'
import type { Script } from './fault-upstream.ts'
import {
  answerBody,
  answerEvents,
  emitEvents,
  type OutputAnswer,
  type OutputEvent,
  type OutputItem,
} from './responses-frames.ts'

/** The provider answers in the wire of its request, as a stream or not, and calls tools as they were declared. */
export const emitsAnswer =
  (answer: OutputAnswer): Script =>
  async (providerAnswer) => {
    await providerAnswer.head()
    const called = {
      ...answer,
      items: answer.items.map((item) => asDeclared(item, providerAnswer.receivedRequest.tools)),
    }
    if ('input' in providerAnswer.receivedRequest) await emitInResponses(providerAnswer, called)
    else await emitInChat(providerAnswer, called)
    await providerAnswer.end()
  }

/** Its first words, and then what else. Only for streams. */
export const emitsFirstText =
  (answer: OutputAnswer, then: Script): Script =>
  async (providerAnswer) => {
    await providerAnswer.head()
    await emitEvents(providerAnswer, halvesOf(providerAnswer, answer)[0])
    await then(providerAnswer)
  }

/** Its first words, and the rest after a while. */
export const emitsInTwo = (answer: OutputAnswer, between: Script): Script =>
  emitsFirstText(answer, async (providerAnswer) => {
    await between(providerAnswer)
    await emitEvents(providerAnswer, halvesOf(providerAnswer, answer)[1])
    await providerAnswer.frames('[DONE]')
    await providerAnswer.end()
  })

function halvesOf(providerAnswer: ProviderAnswer, answer: OutputAnswer): [OutputEvent[], OutputEvent[]] {
  const isResponses = 'input' in providerAnswer.receivedRequest
  const events = isResponses ? answerEvents(providerAnswer.model, answer) : answerChunks(providerAnswer.model, answer)
  const end = isResponses ? 1 + events.findIndex(({ type }) => type?.endsWith('.delta')) : 2
  return [events.slice(0, end), events.slice(end)]
}

async function emitInResponses(providerAnswer: ProviderAnswer, answer: OutputAnswer): Promise<void> {
  if (providerAnswer.delivery === 'json')
    return providerAnswer.bytes(JSON.stringify(answerBody(providerAnswer.model, answer)))
  await emitEvents(providerAnswer, answerEvents(providerAnswer.model, answer))
  await providerAnswer.frames('[DONE]')
}

/** Where namespaces and custom tools are not known, they were declared as functions with longer names. */
function asDeclared(item: OutputItem, tools: unknown): OutputItem {
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

async function emitInChat(providerAnswer: ProviderAnswer, answer: OutputAnswer): Promise<void> {
  const { items, usage = CHAT_USAGE } = answer
  if (providerAnswer.delivery === 'json') {
    const finish = finishOf(answer)
    return providerAnswer.bytes(
      JSON.stringify(reply(providerAnswer.model, { message: messageOf(items), finish, more: { usage } })),
    )
  }
  await emitEvents(providerAnswer, answerChunks(providerAnswer.model, answer))
  await providerAnswer.frames('[DONE]')
}

const answerChunks = (model: string, answer: OutputAnswer): OutputEvent[] => [
  chunk(model, { delta: { role: 'assistant', content: '' } }),
  ...deltasOf(answer).map((delta) => chunk(model, { delta })),
  chunk(model, { finish: finishOf(answer) }),
  usageChunk(model, answer.usage ?? CHAT_USAGE),
]

function finishOf({ items, status }: OutputAnswer): string {
  if (status === 'incomplete') return 'length'
  return items.some(isCall) ? 'tool_calls' : 'stop'
}

type CallItem = Extract<OutputItem, { name: string }>
const isCall = (item: OutputItem): item is CallItem => 'name' in item

function deltasOf({ items, isInterleaved }: OutputAnswer): object[] {
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

function messageOf(items: readonly OutputItem[]): object {
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
