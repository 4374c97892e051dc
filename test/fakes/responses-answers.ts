import { type Fields, isObject } from '../../src/lib/types.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import {
  type Counted,
  callId,
  type Mind,
  POLITE,
  reasoningTokens,
  type SaidCall,
  type Saying,
  type Step,
} from './polite-model.ts'
import { hearResponses, type ResponsesTaste, TRIGGER } from './responses-requests.ts'
import { mannerOf, strictly } from './strict-request.ts'
import type { Talk } from './answers.ts'

/**
 * A provider that speaks Responses without keeping state, and keeps every rule about items: its seals it takes back
 * unchanged. What it makes short it gives as one item that only it can read; it knows what was told before it when that
 * comes back.
 */
export function responsesTalk(
  knows: ResponsesTaste['knows'],
  { name = 'fake', seals = new Map(), mind = POLITE }: Sealer = {},
): Script {
  const compactions = new Map<string, readonly Step[]>()
  return strictly(async (talk) => {
    const hearing = hearResponses(talk.asked, { knows, seals, compactions })
    if (isTriggered(talk.asked)) {
      const blob = `compacted-by-${name}-${compactions.size}`
      compactions.set(blob, hearing.steps)
      const item = { id: 'cmp_fake', type: 'compaction', encrypted_content: blob }
      const said = { thoughts: [], words: [blob], calls: [] }
      return answer(talk, [item], usageOf(mind.countsOf(talk.asked, hearing, said), said))
    }
    const saying = mind.sayingOf(hearing)
    const seal = `sealed-by-${name}-${seals.size}`
    if (knows === 'everything' && saying.thoughts.length > 0) seals.set(seal, talk.model)
    const items = itemsOf(talk, saying, knows === 'everything' ? seal : undefined)
    return answer(talk, items, usageOf(mind.countsOf(talk.asked, hearing, saying), saying))
  })
}

interface Sealer {
  /** Shows in its seals. */
  readonly name?: string
  /** What it has sealed, and with which of its models; who takes something out has it forgotten. */
  readonly seals?: Map<string, string>
  readonly mind?: Mind
}

const isTriggered = ({ input }: Fields): boolean => Array.isArray(input) && input.at(-1)?.type === TRIGGER

async function answer(talk: Talk, items: readonly Fields[], usage: object): Promise<void> {
  if (talk.delivery === 'stream') return stream(talk, items, usage)
  await talk.head()
  await talk.bytes(JSON.stringify(responseOf(talk, { status: 'completed', output: items, usage })))
  await talk.end()
}

/** The items of the answer, each as it is when it is whole. */
function itemsOf({ asked }: Talk, { thoughts, words, calls }: Saying, seal: string | undefined): Fields[] {
  const status = 'completed'
  const spoken = { type: 'message', role: 'assistant', status, content: [textPart(words.join(''))] }
  return [
    ...(thoughts.length > 0 ? [{ id: 'rs_fake', ...reasoningOf(asked, thoughts.join(''), seal) }] : []),
    ...(words.length > 0 ? [{ id: 'msg_fake', ...spoken }] : []),
    ...calls.map((call, index) => ({
      id: `fc_fake_${index}`,
      status,
      call_id: callId(call, index),
      ...calledAs(call),
    })),
  ]
}

const calledAs = ({ kind, name, namespace, text }: SaidCall): Fields => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  ...(kind === 'custom' ? { type: 'custom_tool_call', input: text } : { type: 'function_call', arguments: text }),
})

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

/** Sealed, with a summary for whoever asked for one; or in plain words. */
function reasoningOf({ reasoning, include }: Fields, text: string, seal: string | undefined): Fields {
  if (seal === undefined) return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] }
  const isTold = isObject(reasoning) && typeof reasoning.summary === 'string'
  const isSealed = Array.isArray(include) && include.includes('reasoning.encrypted_content')
  return {
    type: 'reasoning',
    summary: isTold ? [{ type: 'summary_text', text }] : [],
    ...(isSealed ? { encrypted_content: seal } : {}),
  }
}

function usageOf(counted: Counted, saying: Saying): object {
  const { input, cached, written, output } = counted
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cached,
      ...(written === undefined ? {} : { cache_write_tokens: written }),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoningTokens(counted, saying) },
    total_tokens: input + output,
  }
}

const responseOf = ({ model }: Talk, more: Fields): Fields => ({
  ...{ id: 'resp_fake', object: 'response', created_at: 1_700_000_000, model, error: null, incomplete_details: null },
  ...{ output: [], usage: null, ...more },
})

async function stream(talk: Talk, items: readonly Fields[], usage: object): Promise<void> {
  let sequence_number = 0
  const say = (type: string, fields: Fields) => talk.frames({ type, sequence_number: sequence_number++, ...fields })
  await talk.head()
  await say('response.created', { response: responseOf(talk, { status: 'in_progress' }) })
  await say('response.in_progress', { response: responseOf(talk, { status: 'in_progress' }) })
  for (const [output_index, item] of items.entries()) {
    const place = { item_id: item.id, output_index }
    await say('response.output_item.added', { output_index, item: { ...item, ...emptied(item) } })
    for (const [type, fields] of eventsInside(item)) {
      if (type === TURNING_POINT && fields.delta === ' 3' && (await endsEarly(talk, say))) return
      await say(type, { ...place, ...fields })
    }
    await say('response.output_item.done', { output_index, item })
  }
  await say('response.completed', { response: responseOf(talk, { status: 'completed', output: items, usage }) })
  await talk.end()
}

/** Whoever does not say everything stops while it counts. */
const TURNING_POINT = 'response.output_text.delta'

function emptied({ type, encrypted_content: seal }: Fields): Fields {
  if (type === 'message') return { status: 'in_progress', content: [] }
  // A seal is shorter at the beginning, and nothing that could be given back.
  const begun = typeof seal === 'string' ? { encrypted_content: seal.slice(0, 7) } : {}
  if (type === 'reasoning') return { summary: [], content: [], ...begun }
  if (type === 'compaction') return begun
  return { status: 'in_progress', ...(type === 'function_call' ? { arguments: '' } : { input: '' }) }
}

type InnerEvent = readonly [type: string, fields: Fields]

function eventsInside(item: Fields): InnerEvent[] {
  switch (item.type) {
    case 'message':
      return partsOf(item.content).flatMap((part, content_index) => contentEvents('output_text', part, content_index))
    case 'reasoning':
      return [
        ...partsOf(item.summary).flatMap(summaryEvents),
        ...partsOf(item.content).flatMap((part, content_index) => contentEvents('reasoning_text', part, content_index)),
      ]
    case 'compaction':
      return []
    case 'function_call':
      return callEvents('function_call_arguments', 'arguments', String(item.arguments))
    default:
      return callEvents('custom_tool_call_input', 'input', String(item.input))
  }
}

const partsOf = (parts: unknown): Fields[] => (Array.isArray(parts) ? parts : [])
const wordsOf = (text: unknown): string[] => String(text).match(/\s*\S+/g) ?? []

function contentEvents(kind: 'output_text' | 'reasoning_text', part: Fields, content_index: number): InnerEvent[] {
  const { text } = part
  return [
    ['response.content_part.added', { content_index, part: { ...part, text: '' } }],
    ...wordsOf(text).map((delta): InnerEvent => [`response.${kind}.delta`, { content_index, delta, logprobs: [] }]),
    [`response.${kind}.done`, { content_index, text, logprobs: [] }],
    ['response.content_part.done', { content_index, part }],
  ]
}

function summaryEvents(part: Fields, summary_index: number): InnerEvent[] {
  const { text } = part
  return [
    ['response.reasoning_summary_part.added', { summary_index, part: { ...part, text: '' } }],
    ['response.reasoning_summary_text.delta', { summary_index, delta: text }],
    ['response.reasoning_summary_text.done', { summary_index, text }],
    ['response.reasoning_summary_part.done', { summary_index, part }],
  ]
}

function callEvents(name: string, field: 'arguments' | 'input', text: string): InnerEvent[] {
  const half = Math.ceil(text.length / 2)
  const deltas = [text.slice(0, half), text.slice(half)].map(
    (delta): InnerEvent => [`response.${name}.delta`, { delta }],
  )
  return [...deltas, [`response.${name}.done`, { [field]: text }]]
}

type Say = (type: string, fields: Fields) => Promise<void>

async function endsEarly(talk: Talk, say: Say): Promise<boolean> {
  const manner = mannerOf(talk)
  if (manner === 'whole') return false
  await delivered()
  if (manner === 'breaks') {
    const error = { code: 'server_error', message: 'The server is overloaded.' }
    await say('error', { ...error, param: null })
    await say('response.failed', { response: responseOf(talk, { status: 'failed', error }) })
    await talk.end()
  }
  if (manner === 'resets') talk.reset()
  return true
}
