import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { answerToHowMuch, HOW_MUCH, QUESTION, TASK } from '../../fakes/scripted-model-state.ts'
import type { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { type CompactionKind, createAgentContext, user } from './agent-context.ts'
import { createAgentLine, type LineAnswer } from './agent-line.ts'
import { resultsOf, TOOLS } from './agent-tools.ts'
import type { Bill } from './bill.ts'
import { createFacts, type Facts } from './facts.ts'
import type { MillServed, ScriptedModelSetup } from './scripted-model-server.ts'

/** How each compaction is asked for, over and over; the third goes on from the chain of the second. */
const KINDS: readonly CompactionKind[] = ['by-trigger', 'in-chain', 'at-endpoint', 'at-endpoint']
const IS_CHAINED: readonly boolean[] = [false, true, true, false]
/** A request with more input than this is the last before the conversation is made short. */
const THRESHOLD_TOKENS = 9000
const VARIANTS = ['mill', 'mill-low', 'mill-high']

/** One time that the conversation was made short. */
export interface Shortening {
  readonly kind: CompactionKind
  readonly mill: string
  readonly variant: MillServed['shortens']
  readonly requestId: string
  /** Of the last request before it and of the next one after it, as their providers got them. */
  readonly bytesBefore: number
  bytesAfter: number
}

export type Failure = 'lane' | 'process'

export interface Agent {
  readonly shortenings: readonly Shortening[]
  readonly facts: Facts
  /** So many turns more; what happens before a turn is told its number. */
  work(turns: number, before?: (turn: number) => Promise<void> | void): Promise<void>
  /** In the middle of the next compaction the lane that makes it breaks off, or the process dies. */
  failInNextCompaction(what: Failure): void
  /** What it would send next. */
  next(): Fields
  /** Asks for everything that was ever told, and how much was done. */
  requestEverything(): Promise<void>
}

interface AgentParts {
  readonly setup: ScriptedModelSetup
  readonly bill: Bill
  readonly random: ReturnType<typeof randomFrom>
}

/**
 * A coding agent: it gives tasks, runs the tools that the model calls, has the conversation made short whenever it has
 * grown too long, and asks in between for what was told long ago.
 */
export function createAgent({ setup, bill, random }: AgentParts): Agent {
  const context = createAgentContext()
  const line = createAgentLine({ setup, bill, context, streams: () => random(3) > 0 })
  const facts = createFacts(random)
  const shortenings: Shortening[] = []
  const task = { number: 0, calls: 0, done: 0 }
  let turn = 0
  let model = VARIANTS[0]!
  let done = 0
  let results: Fields[] = []
  let last: LineAnswer | undefined
  let toFail: Failure | undefined

  async function sendTurn(...words: readonly string[]): Promise<string> {
    const more = [...results, ...facts.toEmit().map(user), ...words.map(user)]
    const answer = await line.sendTurn(model, more)
    const shortened = shortenings.at(-1)
    if (shortened?.bytesAfter === 0) shortened.bytesAfter = answer.served.bytes
    last = answer
    results = resultsOf(answer.output, turn, facts)
    task.done += results.length
    done += results.length
    return answer.output.flatMap(({ type, content }) => (type === 'message' ? textsOf(content) : [])).join('')
  }

  async function askFor(about: string, expected: string): Promise<void> {
    expect(await sendTurn(about), `in turn ${turn}`).toBe(expected)
  }

  async function requestAny(): Promise<void> {
    const known = facts.known()
    const receivedRequest = known[random(known.length + 1)]
    if (receivedRequest === undefined) await askFor(HOW_MUCH, answerToHowMuch(done))
    else await askFor(QUESTION(receivedRequest.about), receivedRequest.answer)
  }

  async function shorten(): Promise<void> {
    const at = shortenings.length
    const kind = KINDS[at % KINDS.length]!
    const failure = toFail
    toFail = undefined
    if (failure === 'lane') void setup.first.nextAnswer('breaks-off')
    const how = failure === 'process' ? line.dieInCompaction : line.compact
    const { requestId, served } = await how(model, kind, results)
    results = []
    if (failure === 'lane') expect(setup.mills[served.mill], 'the lane that broke off').not.toBe(setup.first)
    const { mill, shortens: variant } = served
    shortenings.push({ kind, mill, variant, requestId, bytesBefore: last!.served.bytes, bytesAfter: 0 })
    last = undefined
    context.isChained = IS_CHAINED[(at + 1) % IS_CHAINED.length]!
    // Codex goes on with what it has; who goes on from an id has to say something.
    if (kind !== 'by-trigger') await requestAny()
    else await sendTurn()
  }

  async function goOn(): Promise<void> {
    if (results.length > 0) await sendTurn()
    else if (task.done < task.calls) await sendTurn('Go on.')
    else if (random(3) === 0) await requestAny()
    else {
      model = VARIANTS[random(VARIANTS.length)]!
      Object.assign(task, { number: task.number + 1, calls: 2 + random(6), done: 0 })
      await sendTurn(TASK(`t${task.number}`, task.calls))
    }
  }

  return {
    shortenings,
    facts,
    async work(turns, before) {
      for (const end = turn + turns; turn < end; ) {
        turn += 1
        await before?.(turn)
        await (last && last.inputTokens > THRESHOLD_TOKENS ? shorten() : goOn())
      }
    },
    failInNextCompaction(what) {
      toFail = what
    },
    next: () => ({ model, tools: TOOLS, ...context.bodyWith([...results, user('Go on.')]) }),
    async requestEverything() {
      for (const { about, answer } of facts.known()) await askFor(QUESTION(about), answer)
      await askFor(HOW_MUCH, answerToHowMuch(done))
    },
  }
}

const textsOf = (content: unknown): string[] => (content as readonly { text: string }[]).map(({ text }) => text)
