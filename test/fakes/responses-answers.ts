import { type Fields, isObject } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import {
  type Counted,
  callId,
  type ModelState,
  type OutputCall,
  POLITE,
  reasoningTokens,
  type Saying,
  type Step,
} from './polite-model.ts'
import { parseResponses, type ResponsesTaste, TRIGGER } from './responses-requests.ts'
import { modeOf, strictly } from './strict-request.ts'

/**
 * A provider that speaks Responses without keeping state, and keeps every rule about items: its seals it takes back
 * unchanged. What it makes short it gives as one item that only it can read; it knows what was told before it when that
 * comes back.
 */
export function responsesAnswer(
  knows: ResponsesTaste['knows'],
  { name = 'fake', seals = new Map(), modelState = POLITE }: Sealer = {},
): Script {
  const compactions = new Map<string, readonly Step[]>()
  return strictly(async (providerAnswer) => {
    const parsedRequest = parseResponses(providerAnswer.receivedRequest, { knows, seals, compactions })
    if (isTriggered(providerAnswer.receivedRequest)) {
      const blob = `compacted-by-${name}-${compactions.size}`
      compactions.set(blob, parsedRequest.steps)
      const item = { id: 'cmp_fake', type: 'compaction', encrypted_content: blob }
      const emitted = { thoughts: [], words: [blob], calls: [] }
      return answer(
        providerAnswer,
        [item],
        usageOf(modelState.countsOf(providerAnswer.receivedRequest, parsedRequest, emitted), emitted),
      )
    }
    const saying = modelState.sayingOf(parsedRequest)
    const seal = `sealed-by-${name}-${seals.size}`
    if (knows === 'everything' && saying.thoughts.length > 0) seals.set(seal, providerAnswer.model)
    const items = itemsOf(providerAnswer, saying, knows === 'everything' ? seal : undefined)
    return answer(
      providerAnswer,
      items,
      usageOf(modelState.countsOf(providerAnswer.receivedRequest, parsedRequest, saying), saying),
    )
  })
}

interface Sealer {
  /** Shows in its seals. */
  readonly name?: string
  /** What it has sealed, and with which of its models; who takes something out has it forgotten. */
  readonly seals?: Map<string, string>
  readonly modelState?: ModelState
}

const isTriggered = ({ input }: Fields): boolean => Array.isArray(input) && input.at(-1)?.type === TRIGGER

async function answer(providerAnswer: ProviderAnswer, items: readonly Fields[], usage: object): Promise<void> {
  if (providerAnswer.delivery === 'stream') return stream(providerAnswer, items, usage)
  await providerAnswer.head()
  await providerAnswer.bytes(JSON.stringify(responseOf(providerAnswer, { status: 'completed', output: items, usage })))
  await providerAnswer.end()
}

/** The items of the answer, each as it is when it is whole. */
function itemsOf(
  { receivedRequest }: ProviderAnswer,
  { thoughts, words, calls }: Saying,
  seal: string | undefined,
): Fields[] {
  const status = 'completed'
  const outputText = { type: 'message', role: 'assistant', status, content: [textPart(words.join(''))] }
  return [
    ...(thoughts.length > 0 ? [{ id: 'rs_fake', ...reasoningOf(receivedRequest, thoughts.join(''), seal) }] : []),
    ...(words.length > 0 ? [{ id: 'msg_fake', ...outputText }] : []),
    ...calls.map((call, index) => ({
      id: `fc_fake_${index}`,
      status,
      call_id: callId(call, index),
      ...calledAs(call),
    })),
  ]
}

const calledAs = ({ kind, name, namespace, text }: OutputCall): Fields => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  ...(kind === 'custom' ? { type: 'custom_tool_call', input: text } : { type: 'function_call', arguments: text }),
})

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

/** Sealed, with a summary if the client asked for one; or in plain text. */
function reasoningOf({ reasoning, include }: Fields, text: string, seal: string | undefined): Fields {
  if (seal === undefined) return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] }
  const isDelivered = isObject(reasoning) && typeof reasoning.summary === 'string'
  const isSealed = Array.isArray(include) && include.includes('reasoning.encrypted_content')
  return {
    type: 'reasoning',
    summary: isDelivered ? [{ type: 'summary_text', text }] : [],
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

const responseOf = ({ model }: ProviderAnswer, more: Fields): Fields => ({
  ...{ id: 'resp_fake', object: 'response', created_at: 1_700_000_000, model, error: null, incomplete_details: null },
  ...{ output: [], usage: null, ...more },
})

async function stream(providerAnswer: ProviderAnswer, items: readonly Fields[], usage: object): Promise<void> {
  let sequence_number = 0
  const emit = (type: string, fields: Fields) =>
    providerAnswer.frames({ type, sequence_number: sequence_number++, ...fields })
  await providerAnswer.head()
  await emit('response.created', { response: responseOf(providerAnswer, { status: 'in_progress' }) })
  await emit('response.in_progress', { response: responseOf(providerAnswer, { status: 'in_progress' }) })
  for (const [output_index, item] of items.entries()) {
    const place = { item_id: item.id, output_index }
    await emit('response.output_item.added', { output_index, item: { ...item, ...emptied(item) } })
    for (const [type, fields] of eventsInside(item)) {
      if (type === TURNING_POINT && fields.delta === ' 3' && (await endsEarly(providerAnswer, emit))) return
      await emit(type, { ...place, ...fields })
    }
    await emit('response.output_item.done', { output_index, item })
  }
  await emit('response.completed', {
    response: responseOf(providerAnswer, { status: 'completed', output: items, usage }),
  })
  await providerAnswer.end()
}

/** A provider that breaks off does so in the middle of this text. */
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

type Emit = (type: string, fields: Fields) => Promise<void>

async function endsEarly(providerAnswer: ProviderAnswer, emit: Emit): Promise<boolean> {
  const mode = modeOf(providerAnswer)
  if (mode === 'whole') return false
  await delivered()
  if (mode === 'breaks') {
    const error = { code: 'server_error', message: 'The server is overloaded.' }
    await emit('error', { ...error, param: null })
    await emit('response.failed', { response: responseOf(providerAnswer, { status: 'failed', error }) })
    await providerAnswer.end()
  }
  if (mode === 'resets') providerAnswer.reset()
  return true
}
