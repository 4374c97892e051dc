import type { Fields } from '../../src/lib/types.ts'
import { anthropicTalk } from './anthropic-answers.ts'
import { chatTalk } from './chat-answers.ts'
import { delivered } from './delivered.ts'
import { type Script, startFaultUpstream } from './fault-upstream.ts'
import { geminiTalk } from './gemini-answers.ts'
import { asksForSummary, millerMind } from './scripted-model-state.ts'
import { noting } from './noting.ts'
import type { Counted, Hearing, Mind } from './polite-model.ts'
import { TRIGGER } from './responses-requests.ts'
import { responsesTalk } from './responses-answers.ts'
import type { Talk } from './answers.ts'

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
export interface Miller {
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
  close(): Promise<void>
}

export type MillerKind = 'chat' | 'openai' | 'plain' | 'anthropic' | 'gemini'

const BYTES_PER_TOKEN = 4

export async function startMiller(kind: MillerKind): Promise<Miller> {
  const served: Served[] = []
  const refused: string[] = []
  let next: { readonly fate: 'breaks-off' | 'never-comes'; readonly isAsked: () => void } | undefined
  let health: Health = 'well'
  const countsOf = createCounts()
  const mind = millerMind((asked, hearing, saying) => {
    const counted = countsOf(asked, hearing, saying)
    // What breaks off is never told its counts.
    if (next === undefined) served.push({ ...factsOf(asked, hearing), counted })
    return counted
  })
  const talkOf = TALKS[kind](mind)
  const far = await startFaultUpstream(() => async (talk) => {
    if (health === 'gone') return talk.reset()
    if (health === 'busy') return sayBusy(talk)
    const { fate, isAsked } = next ?? {}
    isAsked?.()
    if (fate === 'never-comes') next = undefined
    else await talkOf(noting(fate === 'breaks-off' ? breaking(talk) : talk, refused))
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
      new Promise<void>((isAsked) => {
        next = { fate, isAsked }
      }),
    close: far.close,
  }
}

const TALKS: Readonly<Record<MillerKind, (mind: Mind) => Script>> = {
  chat: (mind) => chatTalk({ mind }),
  openai: (mind) => responsesTalk('everything', { mind, name: `mill-${++mills}` }),
  plain: (mind) => responsesTalk('functions', { mind }),
  anthropic: (mind) => anthropicTalk({ mind, name: `mill-${++mills}` }),
  gemini: (mind) => geminiTalk({ mind, name: `mill-${++mills}` }),
}

let mills = 0

function factsOf(asked: Fields, hearing: Hearing): Omit<Served, 'counted'> {
  const items = Array.isArray(asked.input) ? asked.input : []
  return {
    bytes: Buffer.byteLength(JSON.stringify(asked)),
    shortens: items.at(-1)?.type === TRIGGER ? 'natively' : asksForSummary(hearing) ? 'by-summary' : undefined,
    sealsBack: items.filter(({ type }) => type === 'reasoning').length + signedIn(asked),
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
function createCounts(): Mind['countsOf'] {
  let before = ''
  return (asked, _hearing, saying) => {
    const text = JSON.stringify(asked)
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

async function sayBusy(talk: Talk): Promise<void> {
  await talk.head(503)
  await talk.bytes(JSON.stringify({ error: { message: 'The mill is full.', type: 'server_error' } }))
  await talk.end()
}

const FRAMES_BEFORE_BREAK = 5

/** A few frames of a stream get through. */
function breaking(talk: Talk): Talk {
  let frames = 0
  const orBreak = async (write: () => Promise<void>) => {
    frames += 1
    if (frames <= FRAMES_BEFORE_BREAK) return write()
    await delivered()
    talk.reset()
  }
  return {
    ...talk,
    frames: (...events) => orBreak(() => talk.frames(...events)),
    events: (...events) => orBreak(() => talk.events(...events)),
  }
}
