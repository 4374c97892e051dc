import { type Lane, type Model, priceAt } from '../catalog/catalog.ts'
import { resolveModel } from '../catalog/resolve-model.ts'
import type { AdmitRequest } from '../ledger/state/turns.ts'
import { msBetween } from '../lib/clock.ts'
import { limitsForTurn } from '../limits/limits.ts'
import type { Caller } from '../model/caller.ts'
import { PRICED_FIELDS, type Price, type PricedValues } from '../model/price.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { Demand, OtherInput, PartDemand, TurnRequest } from '../model/turn.ts'
import {
  BYTES_A_LEAST_TOKEN,
  estimateInput,
  leastTokens,
  partEstimate,
  type SizedInput,
  textOfTokens,
} from '../pricing/estimate.ts'
import { holdTermsFor, inputBound } from '../pricing/price.ts'
import { CACHED_BYTES_MIN, type SentPrompt } from '../pricing/seen-prefixes.ts'
import { measureText } from '../protocols/fields/input-size.ts'
import { memberBytes } from '../protocols/json/bytes.ts'
import { requestedField } from '../protocols/responses/fields.ts'
import { type CallSeals, opaqueForLane, restoreSeals } from '../protocols/seals/call-seals.ts'
import { refusedValue } from '../protocols/shared/lane-target.ts'
import { SUMMARY_REQUEST_BYTES } from '../protocols/shared/summary.ts'
import { clientName } from '../protocols/shared/texts.ts'
import { codecs } from '../protocols/wires.ts'
import { capOn, laneDialect } from '../routing/learned-capabilities.ts'
import { conversationKeysOf } from '../routing/plan-lanes.ts'
import type { PlannedTurn, TurnServices } from './turn.ts'
import type { TurnInput } from './turn-input.ts'

type PlanTurnOutcome =
  | { readonly kind: 'planned'; readonly turn: PlannedTurn }
  | { readonly kind: 'refused'; readonly problem: Problem; readonly model?: Model }

/** Finds the model, and with it the price, lanes, limits and cap of this turn, from the current configuration. */
export async function planTurn(services: TurnServices, input: TurnInput, caller: Caller): Promise<PlanTurnOutcome> {
  const { request, requestId, claim, tags, run } = input
  const resolved = resolveModel(services.catalog, caller, request)
  if (resolved.kind === 'refused') return resolved
  const { entry, effort } = resolved
  const { model } = entry
  const unsuitable = inputProblem(model, request)
  if (unsuitable) return { kind: 'refused', problem: unsuitable, model }
  const isDated = model.nextPrice !== undefined || model.formerPrice !== undefined
  const price = isDated
    ? priceAt(resolved.price, model, services.now() - msBetween(input.startedAt, services.nowMicros()))
    : resolved.price
  const unpriced = request.priced && unpricedValue(price, request.priced)
  if (unpriced) return { kind: 'refused', problem: unpriced, model }
  const lanes = ableLanes(model, request)
  if ('code' in lanes) return { kind: 'refused', problem: lanes, model }

  const { account } = caller
  const { callSeals } = services
  const mayHaveSeals = callSeals.accounts.has(account) || (callSeals.isShared && hasToolCalls(request))
  const kept = request.protocol === 'chat' && mayHaveSeals ? callSeals.of(account) : undefined
  const sized = kept || request.compacts !== undefined ? await wholeInput(request, lanes, kept) : request
  const prompt = sentPromptOf(caller, request, model)
  const terms = { requestId, caller, request, claim, tags, run, lanes, prompt, input: sized }
  const { admitRequest, inputBound } = planAdmission(services, terms, model, price)
  const isGuarded = request.body.bytes.length >= CACHED_BYTES_MIN && request.compacts === undefined
  const keys = lanes.length > 1 || isGuarded ? conversationKeysOf(caller, request, model) : undefined
  const conversationKeys = lanes.length > 1 ? keys : undefined
  const turn: PlannedTurn = {
    requestId,
    caller,
    program: input.program,
    request,
    sink: input.sink,
    startedAt: input.startedAt,
    claim,
    tags,
    run,
    onContent: input.onContent,
    trace: input.trace,
    entry,
    effort,
    price,
    lanes,
    prompt,
    admitRequest,
    inputBound,
    conversationKeys,
    previousOrigin: conversationKeys && (services.sticky.find(conversationKeys) ?? sealedOn(request, lanes)),
    guarded: isGuarded && keys ? { keys } : undefined,
  }
  return { kind: 'planned', turn }
}

/** The lane that can read the last reasoning in the request, for a conversation that this node does not know. */
function sealedOn(request: TurnRequest, lanes: readonly Lane[]): string | undefined {
  const last = request.protocol === 'responses' ? [...request.sealed.values()].at(-1) : undefined
  return lanes.find(({ origin }) => origin === last?.origin)?.origin
}

/** What changes the price is served where the price says how. */
function unpricedValue({ multipliers }: Pick<Price, 'multipliers'>, priced: PricedValues): Problem | undefined {
  for (const field of PRICED_FIELDS) {
    const value = priced[field]
    const known = Object.keys(multipliers?.[field] ?? {})
    if (value === undefined || known.includes(value)) continue
    const others = known.length === 0 ? 'Leave it out' : `It has a price for ${known.join(', ')}: send one of them`
    const message = `\`${field}\` is "${value}", which would change the price of the request, and this model has no price for that. ${others}, or send "auto" or "default".`
    return problem('unsupported_value', message, { param: field })
  }
  return undefined
}

const INPUT_NAMES = { image: 'an image', audio: 'audio', file: 'a file' } as const satisfies Record<
  OtherInput['kind'],
  string
>

/** Refuses parts that the model does not take, too many choices, and input that certainly exceeds its context. */
export function inputProblem(model: Model, request: TurnRequest): Problem | undefined {
  const { otherInputs, choices, inputSize, inputField } = request
  let textBytes = inputSize.inputBytes
  for (const { kind, param, dataBytes } of otherInputs) {
    textBytes -= dataBytes
    if (model.inputs.includes(kind)) continue
    const message = `\`${param}\` is ${INPUT_NAMES[kind]}, and \`${request.model}\` takes ${model.inputs.join(', ')} only. Leave the part out, or choose a model that takes it.`
    return problem('unsupported_content', message, { param })
  }
  if (choices > model.choicesMax) {
    const message = `\`n\` is ${choices}; \`${request.model}\` returns at most ${model.choicesMax} choice${model.choicesMax === 1 ? '' : 's'} a request.`
    return problem('unsupported_value', message, { param: 'n' })
  }
  // Input that only may exceed the context is the provider's to judge.
  const { contextTokens } = model
  if (textBytes <= contextTokens * BYTES_A_LEAST_TOKEN) return undefined
  // The client lets the provider drop the middle of its input.
  if (request.protocol === 'responses' && requestedField(request, 'truncation') === 'auto') return undefined
  const least = leastTokens(measureText(request, textOfTokens(TIMES_MEASURED * contextTokens)))
  if (least <= contextTokens) return undefined
  const message = `The input exceeds the context window of '${request.model}': it has at least ${least} tokens, and the maximum context length is ${contextTokens} tokens, input and output together. Send less input, or choose a model with a larger context.`
  return problem('context_length_exceeded', message, { param: inputField })
}

/** Text is measured up to so many times the context. */
const TIMES_MEASURED = 2

/** The output that counts against a token limit until the model has answered. */
const OUTPUT_RESERVED_TOKENS = 1024

interface AdmissionTerms
  extends Pick<PlannedTurn, 'requestId' | 'caller' | 'request' | 'claim' | 'tags' | 'run' | 'prompt' | 'lanes'> {
  /** Everything that a provider may get to read. */
  readonly input: SizedInput
}

/** What admission decides on: the maximum cost of the turn, what pays for it, and every limit that it has to pass. */
export function planAdmission(
  services: Pick<TurnServices, 'limits' | 'chosenCap' | 'seenPrefixes'> & { readonly catalog: Plans },
  { request, caller, requestId, claim, tags, run, input, prompt, lanes }: AdmissionTerms,
  model: Model,
  price: Price,
): { readonly admitRequest: AdmitRequest; readonly inputBound: number } {
  const { outputCap, choices } = request
  const bound = inputBound(input, model)
  const inputEstimate = Math.min(estimateInput(input, model), bound)
  let clientCap: number | undefined
  if (outputCap !== undefined) {
    // The highest cap that a lane of the turn may be called with: the hold covers each of them.
    for (const lane of lanes) clientCap = Math.max(clientCap ?? 0, capOn(lane, outputCap))
    clientCap = Math.min(clientCap ?? outputCap, model.maxOutputTokens)
  }
  const tokens = inputEstimate + Math.min(clientCap ?? model.maxOutputTokens, OUTPUT_RESERVED_TOKENS) * choices
  const seenTokens = prompt === undefined ? 0 : services.seenPrefixes.seenTokens(prompt)
  const { kind, plan } = caller
  const caps = run === undefined ? caller.caps : [...caller.caps, ...run.caps]
  // A plan that was removed from the configuration has no windows, so admission finds nothing to draw on.
  const windows = kind === 'builder' && plan !== undefined ? services.catalog.plans.get(plan.id)?.windows : undefined
  return {
    inputBound: bound,
    admitRequest: {
      requestId,
      account: caller.account,
      key: caller.key,
      kind,
      model: model.id,
      priceVersion: price.version,
      terms: holdTermsFor(price, bound, choices, request.priced),
      clientCap,
      modelCap: model.maxOutputTokens,
      chosenCap: services.chosenCap,
      choices,
      inputEstimate,
      cachedEstimate: Math.min(seenTokens, inputEstimate),
      plan: plan?.id,
      allowances: windows === undefined ? caps : [...windows, ...caps],
      claim,
      tags,
      asked: request.priced && JSON.stringify(request.priced),
      delivery: request.delivery,
      limits: limitsForTurn(services.limits, caller, { model: model.id, tokens }),
    },
  }
}

type Plans = Pick<TurnServices['catalog'], 'plans'>

/**
 * The lanes that can do what a request asks for; a problem when no lane of the model can. Fields that only shape an answer are
 * left out where a lane does not know them, and named; fields that change the answer are never left out.
 */
export function ableLanes({ id, lanes }: Pick<Model, 'id' | 'lanes'>, request: TurnRequest): readonly Lane[] | Problem {
  const { boundTo, otherInputs, protocol, priced } = request
  if (boundTo !== undefined) {
    const able = lanes.filter((lane) => lane.origin === boundTo)
    return able.length > 0 ? able : problem('invalid_encrypted_content', FOREIGN_COMPACTION, { param: 'input' })
  }
  if (priced) {
    const honouring = lanes.filter((lane) => refusedValue(laneDialect(lane), priced) === undefined)
    if (honouring.length > 0) return ableLanes({ id, lanes: honouring }, { ...request, priced: undefined })
    const field = lanes.map((lane) => refusedValue(laneDialect(lane), priced)).find((each) => each !== undefined)
    const message = `\`${field}\` "${field && priced[field]}" is not offered by any provider of '${id}'. Leave it out, or choose another model.`
    return problem('unsupported_value', message, { param: field ?? null })
  }
  let { demands } = request
  if (otherInputs.length > 0) demands = [...demands, ...otherInputs.flatMap((part) => partDemand(part) ?? [])]
  if (demands.length === 0) return lanes
  const missing = (lane: Lane): Demand | undefined =>
    demands.find((demand) => laneDialect(lane).cannot.includes(demand))
  const able = lanes.filter((lane) => missing(lane) === undefined)
  const [first] = lanes
  if (able.length > 0 || first === undefined) return able
  const demand = missing(first)
  const part = otherInputs.find((other) => partDemand(other) === demand)
  if (part) {
    const message = `\`${part.param}\` is a URL, and no provider of '${id}' fetches URLs. Millrace fetches nothing: send the ${part.kind} itself, as a data URL, or choose another model.`
    return problem('unsupported_content', message, { param: part.param })
  }
  const param = demand === 'response_format' ? clientName('format', protocol) : demand
  const message = `\`${param}\` is not supported by any provider of '${id}'. Leave it out, or choose another model.`
  return problem('unsupported_parameter', message, { param: param ?? null })
}

const FOREIGN_COMPACTION =
  'The compaction in `input` was made by a provider that this model does not use, and no other provider can read it. Continue with the model that made it, or send the conversation itself.'

function partDemand({ kind, form }: OtherInput): PartDemand | undefined {
  if (form !== 'address' || kind === 'audio') return undefined
  return kind === 'image' ? 'image_url' : 'file_url'
}

/** What precedes the messages in a provider's prompt. */
const PREAMBLE_FIELDS = ['instructions', 'tools', 'functions', 'response_format', 'text']
const NOTHING = Buffer.alloc(0)
const SPACE = 0x20

/**
 * The bytes by which the next turn of a conversation is recognized. Undefined where no cache has its beginning: of a short one,
 * and of a compaction, which goes without its tools and whose text does not begin the next turn.
 */
export function sentPromptOf(caller: Caller, request: TurnRequest, model: Model): SentPrompt | undefined {
  if (request.compacts) return undefined
  const { body, otherInputs } = request
  const list = memberBytes(body, request.inputField) ?? NOTHING
  // Without the closing bracket and the space before it: the next turn has a comma there.
  let end = Math.max(list.length - 1, 0)
  while (end > 0 && (list[end - 1] ?? SPACE + 1) <= SPACE) end--
  if (end < CACHED_BYTES_MIN) return undefined
  const preamble: Buffer[] = []
  for (const name of PREAMBLE_FIELDS) {
    const bytes = memberBytes(body, name)
    if (bytes !== undefined) preamble.push(bytes)
  }
  let textBytes = end
  let partTokens = 0
  for (const part of otherInputs) {
    textBytes -= part.dataBytes
    partTokens += partEstimate(part, model)
  }
  // Rounded down: what is not certainly in the cache is charged as input.
  const tokens = Math.floor(Math.max(textBytes, 0) / model.bytesPerToken) + partTokens
  return { owner: `${caller.key} ${model.id}`, preamble, messages: list.subarray(0, end), tokens }
}

/**
 * How much a provider may get to read: the client's input and what we add, which the hold, the limits and the charge have to
 * cover. We add the request for a summary, and the sealed reasoning before calls that a Chat client cannot give back.
 */
export async function wholeInput(
  request: TurnRequest,
  lanes: readonly Lane[],
  callSeals: CallSeals | undefined,
): Promise<SizedInput> {
  if (request.compacts !== undefined) return withAdded(request, { bytes: SUMMARY_REQUEST_BYTES, messages: 1 })
  // A lane with the Chat protocol gets the messages as they came.
  if (callSeals === undefined || lanes.every((lane) => laneDialect(lane).wire === 'chat')) return request
  return withAdded(request, { bytes: await restoredSealBytes(request, lanes, callSeals), messages: 0 })
}

function withAdded({ inputSize, otherInputs }: TurnRequest, added: { bytes: number; messages: number }): SizedInput {
  const { bodyBytes, inputBytes, messages, tools } = inputSize
  return {
    inputSize: {
      bodyBytes: bodyBytes + added.bytes,
      inputBytes: inputBytes + added.bytes,
      messages: messages + added.messages,
      tools,
    },
    otherInputs,
  }
}

const hasToolCalls = ({ body }: TurnRequest): boolean => body.bytes.includes('"tool_calls"')

/** The sealed reasoning for the lane that gets the most. */
async function restoredSealBytes(request: TurnRequest, lanes: readonly Lane[], callSeals: CallSeals): Promise<number> {
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  await callSeals.load?.(conversation.items.flatMap((item) => (item.type === 'tool-call' ? [item.callId] : [])))
  const { items } = restoreSeals(conversation, callSeals.find)
  const opaques = items.flatMap((item) => (item.type === 'reasoning' && item.opaque ? [item.opaque] : []))
  const bytesFor = (lane: Lane): number => {
    const opening = { origin: lane.origin, dialect: laneDialect(lane) }
    return opaques.reduce((sum, opaque) => sum + Buffer.byteLength(opaqueForLane(opaque, opening) ?? ''), 0)
  }
  return Math.max(...lanes.map(bytesFor))
}
