import type { Fields } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import { anthropicAnswer } from './anthropic-answers.ts'
import { chatAnswer } from './chat-answers.ts'
import { delivered } from './delivered.ts'
import { type Script, startFaultUpstream } from './fault-upstream.ts'
import { geminiAnswer } from './gemini-answers.ts'
import { noting } from './noting.ts'
import type { Counted, ModelState, ParsedRequest } from './polite-model.ts'
import { responsesAnswer } from './responses-answers.ts'
import { TRIGGER } from './responses-requests.ts'
import { requestsSummary, scriptedModelState } from './scripted-model-state.ts'

/** One answer that was given whole, and what it was counted as. */
export interface Served {
  /** Of the request, as JSON. */
  readonly bytes: number
  readonly counted: Counted
  /** How it was asked to make the conversation short, if it was. */
  readonly shortens: 'natively' | 'by-summary' | undefined
  /** Of its own reasoning, how much it was shown again. */
  readonly sealsBack: number
}

/** How a miller does: it works, its connections break, or it has no time. */
export type Health = 'well' | 'gone' | 'busy'

/** A provider with a miller behind it, strict about every rule of its wire. */
export interface ScriptedModel {
  readonly baseUrl: string
  readonly isWell: boolean
  /** From now on. */
  is(health: Health): void
  /** What has been served since this was asked last. */
  takeServed(): Served[]
  /** Requests that it would not take: there shall be none. */
  readonly refused: readonly string[]
  /** The next streamed answer breaks off after a few words, or never comes; resolves when it was asked for. */
  nextAnswer(fate: 'breaks-off' | 'never-comes'): Promise<void>
  /** Forgets what should become of the next answer. */
  answersAgain(): void
  close(): Promise<void>
}

export type ScriptedModelKind = 'chat' | 'openai' | 'plain' | 'anthropic' | 'gemini'

const BYTES_PER_TOKEN = 4

export async function startScriptedModel(kind: ScriptedModelKind): Promise<ScriptedModel> {
  const served: Served[] = []
  const refused: string[] = []
  let next: { readonly fate: 'breaks-off' | 'never-comes'; readonly isRequested: () => void } | undefined
  let health: Health = 'well'
  const countsOf = createCounts()
  const modelState = scriptedModelState((receivedRequest, parsedRequest, saying) => {
    const counted = countsOf(receivedRequest, parsedRequest, saying)
    // What breaks off is never told its counts.
    if (next === undefined) served.push({ ...factsOf(receivedRequest, parsedRequest), counted })
    return counted
  })
  const answerOf = TALKS[kind](modelState)
  const far = await startFaultUpstream(() => async (providerAnswer) => {
    if (health === 'gone') return providerAnswer.reset()
    if (health === 'busy') return emitBusy(providerAnswer)
    const { fate, isRequested } = next ?? {}
    isRequested?.()
    if (fate === 'never-comes') next = undefined
    else await answerOf(noting(fate === 'breaks-off' ? breaking(providerAnswer) : providerAnswer, refused))
    if (fate === 'breaks-off') next = undefined
  })
  return {
    baseUrl: far.baseUrl,
    get isWell() {
      return health === 'well'
    },
    is(now) {
      health = now
    },
    takeServed: () => served.splice(0),
    refused,
    nextAnswer: (fate) =>
      new Promise<void>((isRequested) => {
        next = { fate, isRequested }
      }),
    answersAgain() {
      next = undefined
    },
    close: far.close,
  }
}

const TALKS: Readonly<Record<ScriptedModelKind, (modelState: ModelState) => Script>> = {
  chat: (modelState) => chatAnswer({ modelState }),
  openai: (modelState) => responsesAnswer('everything', { modelState, name: `mill-${++mills}` }),
  plain: (modelState) => responsesAnswer('functions', { modelState }),
  anthropic: (modelState) => anthropicAnswer({ modelState, name: `mill-${++mills}` }),
  gemini: (modelState) => geminiAnswer({ modelState, name: `mill-${++mills}` }),
}

let mills = 0

function factsOf(receivedRequest: Fields, parsedRequest: ParsedRequest): Omit<Served, 'counted'> {
  const items = Array.isArray(receivedRequest.input) ? receivedRequest.input : []
  return {
    bytes: Buffer.byteLength(JSON.stringify(receivedRequest)),
    shortens: items.at(-1)?.type === TRIGGER ? 'natively' : requestsSummary(parsedRequest) ? 'by-summary' : undefined,
    sealsBack: items.filter(({ type }) => type === 'reasoning').length + signedIn(receivedRequest),
  }
}

/** How much of it is signed. */
function signedIn({ messages, contents }: Fields): number {
  const pieces = [messages, contents].flatMap((turns) => (Array.isArray(turns) ? turns : []))
  return pieces
    .flatMap(({ content, parts }) => content ?? parts ?? [])
    .filter((piece) => /^signed-by-/.test(piece.signature ?? piece.thoughtSignature ?? '')).length
}

/** A token is four bytes, and what begins as the request before began comes from a cache. */
function createCounts(): ModelState['countsOf'] {
  let before = ''
  return (receivedRequest, _hearing, saying) => {
    const text = JSON.stringify(receivedRequest)
    const cached = Math.floor(sameBytes(before, text) / BYTES_PER_TOKEN)
    before = text
    return {
      input: Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN),
      cached,
      output: Math.ceil(Buffer.byteLength(JSON.stringify(saying)) / BYTES_PER_TOKEN),
    }
  }
}

function sameBytes(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return Buffer.byteLength(one.slice(0, at))
}

async function emitBusy(providerAnswer: ProviderAnswer): Promise<void> {
  await providerAnswer.head(503)
  await providerAnswer.bytes(JSON.stringify({ error: { message: 'The mill is full.', type: 'server_error' } }))
  await providerAnswer.end()
}

const FRAMES_BEFORE_BREAK = 5

/** A few frames of a stream get through. */
function breaking(providerAnswer: ProviderAnswer): ProviderAnswer {
  let frames = 0
  const orBreak = async (write: () => Promise<void>) => {
    frames += 1
    if (frames <= FRAMES_BEFORE_BREAK) return write()
    await delivered()
    providerAnswer.reset()
  }
  return {
    ...providerAnswer,
    frames: (...events) => orBreak(() => providerAnswer.frames(...events)),
    events: (...events) => orBreak(() => providerAnswer.events(...events)),
  }
}
