import type { Catalog, Lane, Model } from '../catalog/catalog.ts'
import { resolveModel } from '../catalog/resolve-model.ts'
import type { AdmitRequest } from '../ledger/state/admit-turn.ts'
import { type ConfiguredLimits, limitsForTurn } from '../limits/limits.ts'
import type { Allowance } from '../model/allowance.ts'
import type { Caller } from '../model/caller.ts'
import type { ChosenCapTerms, Price } from '../model/price.ts'
import { type Problem, problem } from '../model/problem.ts'
import { type Demand, memberBytes, type OtherInput, type PartDemand, type TurnRequest } from '../model/turn.ts'
import {
  BYTES_A_LEAST_TOKEN,
  dataBytesOf,
  estimateInput,
  leastTokens,
  partEstimate,
  type SizedInput,
  textOfTokens,
} from '../pricing/estimate.ts'
import { holdTermsFor, inputBound } from '../pricing/price.ts'
import type { SeenPrefixes, SentPrompt } from '../pricing/seen-prefixes.ts'
import { codecs } from '../protocols/codecs.ts'
import { measureText } from '../protocols/fields/input-size.ts'
import { requestedField } from '../protocols/responses/fields.ts'
import { type CallSeals, opaqueForLane, restoreSeals } from '../protocols/seals/call-seals.ts'
import { SUMMARY_REQUEST_BYTES } from '../protocols/shared/summary.ts'
import { clientName } from '../protocols/shared/texts.ts'
import { capOn, laneDialect } from '../routing/learned-capabilities.ts'
import type { ConversationNames, StickyLanes } from '../routing/plan-lanes.ts'
import { conversationNames } from '../routing/plan-lanes.ts'
import type { CacheSaltOf, CallSealMemory } from './seals.ts'
import type { Turn, TurnInput } from './turn.ts'

export interface PlanDeps extends AdmissionDeps {
  readonly catalog: Catalog
  readonly callSeals: CallSealMemory
  readonly cacheSaltOf: CacheSaltOf
  readonly sticky: StickyLanes
}

type PlannedTurn =
  | { readonly kind: 'planned'; readonly turn: Turn }
  | { readonly kind: 'refused'; readonly problem: Problem; readonly model?: Model }

const NO_NAMES: ConversationNames = { findBy: [], rememberAs: [] }

/** Finds the model of a request, and with it catalogue, price, limits and cap of the moment: a turn keeps what it began with. */
export async function planTurn(deps: PlanDeps, asked: TurnInput): Promise<PlannedTurn> {
  const { caller, request } = asked
  const resolved = resolveModel(deps.catalog, caller, request)
  if (resolved.kind === 'refused') return resolved
  const { entry, effort, price } = resolved
  const { model } = entry
  const unsuitable = checkInputs(model, request) ?? contextProblem(model, request)
  if (unsuitable) return { kind: 'refused', problem: unsuitable, model }
  const lanes = ableLanes(model, request)
  if ('code' in lanes) return { kind: 'refused', problem: lanes, model }

  const callSeals = deps.callSeals.of(caller.account)
  const input = await wholeInput(request, lanes, callSeals)
  const prompt = sentPromptOf(caller, request, model)
  const { admitRequest, inputBound } = planAdmission(deps, { ...asked, input, prompt, lanes }, model, price)
  // With one lane there is nothing to stay on.
  const names = lanes.length > 1 ? conversationNames(caller, request, model) : NO_NAMES
  const turn: Turn = {
    ...asked,
    ...{ entry, effort, price, lanes, prompt, admitRequest, inputBound, callSeals },
    ...{ cacheSalt: deps.cacheSaltOf(caller.accountId), names, cameFrom: deps.sticky.find(names) },
  }
  return { kind: 'planned', turn }
}

const NAMED = { image: 'an image', audio: 'audio', file: 'a file' } as const satisfies Record<
  OtherInput['kind'],
  string
>

/** What only the chosen model can tell about a request: which inputs it takes, and how many choices. */
function checkInputs(model: Model, request: TurnRequest): Problem | undefined {
  const other = request.otherInputs.find((input) => !model.inputs.includes(input.kind))
  if (other) {
    const message = `\`${other.param}\` is ${NAMED[other.kind]}, and \`${request.model}\` takes ${model.inputs.join(', ')} only. Leave the part out, or choose a model that takes it.`
    return problem('unsupported_content', message, { param: other.param })
  }
  if (request.choices > model.choicesMax) {
    const message = `\`n\` is ${request.choices}; \`${request.model}\` gives at most ${model.choicesMax} choice${model.choicesMax === 1 ? '' : 's'} a request.`
    return problem('unsupported_value', message, { param: 'n' })
  }
  return undefined
}

/** Before a model has answered, this much output is assumed when tokens are counted against a limit. */
const OUTPUT_RESERVED_TOKENS = 1024

interface AdmissionDeps {
  readonly limits: ConfiguredLimits
  readonly chosenCap: ChosenCapTerms
  readonly catalog: Pick<Catalog, 'plans'>
  readonly seen: SeenPrefixes
}

interface AdmissionPlan {
  readonly admitRequest: AdmitRequest
  readonly inputBound: number
}

interface Planned extends Pick<Turn, 'requestId' | 'caller' | 'request' | 'claim' | 'prompt' | 'lanes'> {
  /** All that a provider may get to read. */
  readonly input: SizedInput
}

/** Gathers what admission decides on: the most the turn may cost, what it draws on, and every limit it has to pass. */
export function planAdmission(deps: AdmissionDeps, turn: Planned, model: Model, price: Price): AdmissionPlan {
  const { request, caller, requestId, claim, input, prompt } = turn
  const bound = inputBound(input, model)
  const estimate = Math.min(estimateInput(input, model), bound)
  const clientCap = clientCapOf(turn, model)
  const reserved = estimate + Math.min(clientCap ?? model.maxOutputTokens, OUTPUT_RESERVED_TOKENS) * request.choices
  const seen = prompt === undefined ? 0 : deps.seen.seenTokens(prompt)
  return {
    inputBound: bound,
    admitRequest: {
      requestId,
      account: caller.account,
      key: caller.key,
      kind: caller.kind,
      model: model.id,
      priceVersion: price.version,
      terms: holdTermsFor(price, bound, request.choices),
      clientCap,
      modelCap: model.maxOutputTokens,
      chosenCap: deps.chosenCap,
      choices: request.choices,
      inputEstimate: estimate,
      cachedEstimate: Math.min(seen, estimate),
      plan: caller.plan?.id,
      allowances: allowancesOf(deps.catalog, caller),
      claim,
      limits: limitsForTurn(deps.limits, caller, { model: model.id, tokens: reserved }),
    },
  }
}

/** As much as any lane of the turn may be asked for: the hold covers each of them. */
function clientCapOf({ request: { outputCap }, lanes }: Planned, { maxOutputTokens }: Model): number | undefined {
  if (outputCap === undefined) return undefined
  return Math.min(Math.max(...lanes.map((lane) => capOn(lane, outputCap))), maxOutputTokens)
}

/**
 * The windows of a builder key's plan, and the spend caps of either kind. A plan that the configuration does not have any
 * more has no windows, and so admission finds nothing to draw on.
 */
function allowancesOf({ plans }: Pick<Catalog, 'plans'>, { kind, plan, caps }: Caller): readonly Allowance[] {
  const windows = kind === 'builder' && plan !== undefined ? plans.get(plan.id)?.windows : undefined
  return windows === undefined ? caps : [...windows, ...caps]
}

/**
 * The lanes that can do what a request asks for; a problem when a model has some, and none of them can. What merely shapes
 * the words of an answer is left out where a lane does not know it, and named; what makes it another answer is never left out.
 */
export function ableLanes({ id, lanes }: Pick<Model, 'id' | 'lanes'>, request: TurnRequest): readonly Lane[] | Problem {
  if (request.boundTo !== undefined) return lanesOf(request.boundTo, lanes)
  const demands = allDemands(request)
  if (demands.length === 0) return lanes
  const able = lanes.filter((lane) => missing(lane, demands).length === 0)
  if (able.length > 0 || lanes.length === 0) return able
  const [demand] = lanes.flatMap((lane) => missing(lane, demands))
  const part = request.otherInputs.find((other) => partDemand(other) === demand)
  if (part) return withoutAddress(id, part)
  const param = demand === 'response_format' ? clientName('format', request.protocol) : demand
  const message = `\`${param}\` cannot be had from '${id}': none of its providers has anything like it. Leave it out, or choose another model.`
  return problem('unsupported_parameter', message, { param: param ?? null })
}

const missing = (lane: Lane, demands: readonly Demand[]): readonly Demand[] => {
  const { cannot } = laneDialect(lane)
  return cannot.length === 0 ? cannot : demands.filter((demand) => cannot.includes(demand))
}

function withoutAddress(id: string, { kind, param }: OtherInput): Problem {
  const message = `\`${param}\` is an address, and no provider of '${id}' follows it. Millrace fetches nothing: send the ${kind} itself, as a data URL, or choose another model.`
  return problem('unsupported_content', message, { param })
}

/** Who made the conversation short is the only one who can go on from it. */
function lanesOf(origin: string, lanes: readonly Lane[]): readonly Lane[] | Problem {
  const able = lanes.filter((lane) => lane.origin === origin)
  if (able.length > 0) return able
  const message =
    'The compaction in `input` was made by a provider that this model does not run on (any more), and nobody else can read it. Go on with the model that made it, or send the conversation itself.'
  return problem('invalid_encrypted_content', message, { param: 'input' })
}

const allDemands = ({ demands, otherInputs }: TurnRequest): readonly Demand[] => [
  ...demands,
  ...otherInputs.flatMap((part) => partDemand(part) ?? []),
]

function partDemand({ kind, form }: OtherInput): PartDemand | undefined {
  if (form !== 'address' || kind === 'audio') return undefined
  return kind === 'image' ? 'image_url' : 'file_url'
}

/**
 * Refuses input that surely exceeds the model's context, before any provider is asked. Input that only may exceed it is the
 * provider's to judge, and is held for by its own bound.
 */
export function contextProblem({ contextTokens }: Model, request: TurnRequest): Problem | undefined {
  const { inputSize, otherInputs, inputField } = request
  const bytes = inputSize.inputBytes - dataBytesOf(otherInputs)
  if (bytes <= contextTokens * BYTES_A_LEAST_TOKEN || mayBeTruncated(request)) return undefined
  const least = leastTokens(measureText(request, textOfTokens(TIMES_MEASURED * contextTokens)))
  if (least <= contextTokens) return undefined
  const message = `The input exceeds the context window of '${request.model}': it has at least ${least} tokens, and the maximum context length is ${contextTokens} tokens, input and output together. Send less input, or choose a model with a larger context.`
  return problem('context_length_exceeded', message, { param: inputField })
}

/** How far beyond the context it is worth to know how much there is. */
const TIMES_MEASURED = 2

/** The client leaves it to the provider to drop the middle of its input. */
const mayBeTruncated = (request: TurnRequest): boolean =>
  request.protocol === 'responses' && requestedField(request, 'truncation') === 'auto'

/** What comes before the messages in the prompt that a provider makes of a request. */
const PREAMBLE_FIELDS = ['instructions', 'tools', 'functions', 'response_format', 'text']
const NOTHING = Buffer.alloc(0)

/**
 * The bytes by which a conversation is known again when its next turn comes. Undefined of one that is made short: it goes
 * without its tools, so no cache has its beginning, and nobody's next turn begins with its words.
 */
export function sentPromptOf(caller: Caller, request: TurnRequest, model: Model): SentPrompt | undefined {
  if (request.compacts) return undefined
  const { body } = request
  const messages = withoutEnd(memberBytes(body, request.inputField) ?? NOTHING)
  return {
    owner: `${caller.key} ${model.id}`,
    preamble: PREAMBLE_FIELDS.flatMap((name) => memberBytes(body, name) ?? []),
    messages,
    tokens: tokensOf(messages, request.otherInputs, model),
  }
}

/** Rounded down: what is not certainly from the cache is charged as input. */
function tokensOf(messages: Buffer, parts: TurnRequest['otherInputs'], model: Model): number {
  const words = Math.max(messages.length - dataBytesOf(parts), 0)
  return Math.floor(words / model.bytesPerToken) + parts.reduce((sum, part) => sum + partEstimate(part, model), 0)
}

const SPACE = 0x20

/** Without the bracket that closes the list, and the space before it: the next turn has a comma there. */
function withoutEnd(list: Buffer): Buffer {
  let end = Math.max(list.length - 1, 0)
  while (end > 0 && (list[end - 1] ?? SPACE + 1) <= SPACE) end--
  return list.subarray(0, end)
}

/**
 * How much a provider may get to read: what the client has sent, and what we add to it. That is the message that asks for a
 * summary, and what was sealed before calls, which a Chat client cannot give back. It is input like all the rest, so the
 * hold, the limits and the charge have to cover it.
 */
export async function wholeInput(
  request: TurnRequest,
  lanes: readonly Lane[],
  callSeals: CallSeals,
): Promise<SizedInput> {
  const summaries = request.compacts === undefined ? 0 : 1
  const bytes = summaries * SUMMARY_REQUEST_BYTES + (await bytesGivenBack(request, lanes, callSeals))
  if (bytes === 0) return request
  const { bodyBytes, inputBytes, messages, tools } = request.inputSize
  return {
    inputSize: { bodyBytes: bodyBytes + bytes, inputBytes: inputBytes + bytes, messages: messages + summaries, tools },
    otherInputs: request.otherInputs,
  }
}

/** What is put back in front of its calls. Of several lanes the one counts that gets the most. */
async function bytesGivenBack(request: TurnRequest, lanes: readonly Lane[], callSeals: CallSeals): Promise<number> {
  if (request.protocol !== 'chat' || callSeals.isEmpty()) return 0
  // To a lane that speaks Chat too the messages go as they came.
  if (lanes.every((lane) => laneDialect(lane).wire === 'chat')) return 0
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  const { items } = restoreSeals(conversation, callSeals.find)
  const opaques = items.flatMap((item) => (item.type === 'reasoning' && item.opaque ? [item.opaque] : []))
  const bytesFor = (lane: Lane): number => {
    const opening = { origin: lane.origin, dialect: laneDialect(lane) }
    return opaques.reduce((sum, opaque) => sum + Buffer.byteLength(opaqueForLane(opaque, opening) ?? ''), 0)
  }
  return Math.max(...lanes.map(bytesFor))
}
