import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  eventReader,
  frameOf,
  openEncoder,
  plainSeal,
  settledCharge,
} from '../../../test/fixtures/protocols/responses/encoder.ts'
import { openResponses } from '../../../test/support/open-responses.ts'
import { checkResponsesStream, eventsOf } from '../../../test/support/responses-grammar.ts'
import type { FinishReason, Phase, ToolKind, TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'
import type { StreamAdapter } from '../shared/codec-types.ts'
import type { ResponsesEncoder } from './encoder.ts'

const SEED = 20_261
const RUNS = Number(process.env.ANY_ANSWERS ?? 1200)
/** Slower than all else here. */
const DOCUMENT_CHECKS_EVERY = 50

const document = openResponses()

type Step =
  | { readonly do: 'say'; readonly as: 'text' | 'refusal' | 'reasoning' | 'summary'; readonly words: string }
  | { readonly do: 'token'; readonly words: string }
  | { readonly do: 'message'; readonly phase: Phase | undefined }
  | { readonly do: 'reasoning' | 'summary' }
  | { readonly do: 'seal' | 'cut-frame' | 'silence' | 'next-lane' | 'usage' }
  | { readonly do: 'call'; readonly tool: ToolKind; readonly namespace: string | undefined }
  | { readonly do: 'argue' | 'end-call'; readonly which: number; readonly words: string }

const words = fc.constantFrom(
  '',
  '',
  'a',
  'Hello ',
  'ä漢',
  '🙂',
  '\ud83d',
  '\ude42',
  '"\\',
  '\n\ndata: x\n\n',
  '\u2028',
  '{"a":',
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      as: fc.constantFrom('text', 'refusal', 'reasoning', 'summary'),
      words,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('say' as const), as: fc.constant('text' as const), words }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('token' as const), words: fc.constantFrom('a', ' b', 'ä', '🙂') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('message' as const),
      phase: fc.constantFrom(undefined, 'commentary', 'final_answer'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('reasoning', 'summary', 'seal', 'usage') }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('cut-frame', 'silence') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('next-lane' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      tool: fc.constantFrom('function', 'custom'),
      namespace: fc.constantFrom(undefined, 'ns'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('argue', 'argue', 'end-call'), which: fc.nat(5), words }) },
)

const answers = fc.record({
  steps: fc.array(step, { maxLength: 40, size: 'large' }),
  end: fc.constantFrom<FinishReason | 'failure'>('stop', 'length', 'content-filter', 'failure'),
  summary: fc.boolean(),
  sealed: fc.boolean(),
})

interface FundingRequests {
  readonly summary: boolean
  readonly sealed: boolean
}

/** What the answer says, put together from its events alone. */
interface Said {
  text: string
  refusal: string
  reasoning: string
  summary: string
  readonly calls: { readonly callId: string; readonly tool: ToolKind; words: string }[]
  seals: string[]
  readonly tokens: string[]
}

const nothingSaid = (): Said => ({
  text: '',
  refusal: '',
  reasoning: '',
  summary: '',
  calls: [],
  seals: [],
  tokens: [],
})

const USAGE = { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0 }
const isHalf = (words: string): boolean => words.length === 1 && words >= '\ud800' && words <= '\udfff'

const isContent = (event: TurnEvent): boolean =>
  event.type === 'tool-call-start' || ('text' in event && event.text !== '')

/** Plays the steps that are possible where they stand, and notes what was said by them. */
class Play {
  readonly voice: ResponsesEncoder
  adapter: StreamAdapter
  stream = ''
  said = nothingSaid()
  hasContent = false
  readonly openCalls = new Set<number>()
  readonly counts: Record<string, number>
  private frame: TurnEvent[] = []
  private frames: Buffer[] = []
  private seals = 0

  readonly wishes: FundingRequests
  private readonly fields: Record<string, unknown>

  constructor(wishes: FundingRequests, counts: Record<string, number>) {
    this.wishes = wishes
    this.fields = {
      ...(wishes.summary ? { reasoning: { summary: 'auto' } } : {}),
      ...(wishes.sealed ? { include: ['reasoning.encrypted_content'] } : {}),
    }
    this.voice = openEncoder({ fields: this.fields })
    this.adapter = this.voice.translate(eventReader())
    this.counts = counts
  }

  storedItems(): readonly EncodedItem[] {
    return this.voice.storedItems() as readonly unknown[] as readonly EncodedItem[]
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  push(event: TurnEvent): void {
    this.frame.push(event)
    this.hasContent ||= isContent(event)
  }

  deliver(): void {
    const frame = frameOf(...this.frame)
    this.frames.push(frame)
    const { bytes, isContent } = this.adapter.read(frame)
    this.stream += bytes ?? ''
    if (isContent) this.count('reads with content')
    if (this.adapter.state.heldBytes > 0) this.count('reads that hold something')
    this.frame = []
  }

  take(step: Step): void {
    if (step.do === 'cut-frame') this.deliver()
    else if (step.do === 'silence') this.beSilent()
    else if (step.do === 'next-lane') this.changeLane()
    else if (step.do === 'say') this.say(step.as, step.words)
    else if (step.do === 'token') this.sayToken(step.words)
    else if (step.do === 'message') this.push({ type: 'message-start', phase: step.phase })
    else if (step.do === 'reasoning' || step.do === 'summary') this.push({ type: `${step.do}-start` })
    else if (step.do === 'usage') this.push({ type: 'usage', usage: USAGE })
    else if (step.do === 'seal') this.seal()
    else if (step.do === 'call') this.beginCall(step.tool, step.namespace)
    else if (step.do === 'argue' || step.do === 'end-call') this.goOnCalling(step)
  }

  private beSilent(): void {
    this.deliver()
    this.count('silences')
    this.stream += this.voice.keepAlive()
  }

  private changeLane(): void {
    if (this.hasContent) return
    this.count('lanes that failed before content')
    this.frame = []
    this.frames = []
    this.said = nothingSaid()
    this.adapter = this.voice.translate(eventReader())
  }

  private say(as: 'text' | 'refusal' | 'reasoning' | 'summary', words: string): void {
    // Raw reasoning goes among the summaries where these are asked for.
    this.said[as === 'reasoning' && this.wishes.summary ? 'summary' : as] += words
    this.push({ type: `${as}-delta`, text: words })
  }

  private sayToken(words: string): void {
    this.said.text += words
    this.said.tokens.push(words)
    this.push({ type: 'text-delta', text: words, logprobs: [{ token: words, logprob: -1, bytes: undefined, top: [] }] })
  }

  private seal(): void {
    this.seals += 1
    const data = `seal-${this.seals}`
    const opaque = { wire: 'responses', origin: 'lane', data } as const
    this.said.seals.push(plainSeal(opaque))
    this.push({ type: 'reasoning-seal', opaque })
  }

  private beginCall(tool: ToolKind, namespace: string | undefined): void {
    const call = this.said.calls.length
    const callId = `call_${call}`
    this.said.calls.push({ callId, tool, words: '' })
    this.openCalls.add(call)
    if (this.openCalls.size > 1) this.count('calls beside an open one')
    this.push({ type: 'tool-call-start', call, callId, name: `tool_${call}`, namespace, tool })
  }

  private goOnCalling({ do: what, which, words }: Extract<Step, { which: number }>): void {
    const call = [...this.openCalls][which % this.openCalls.size]
    const said = this.said.calls[call ?? -1]
    if (call === undefined || said === undefined) return
    if (what === 'end-call') return void this.endCall(call)
    said.words += words
    this.push({ type: 'tool-call-delta', call, text: words })
  }

  endCall(call: number): void {
    this.openCalls.delete(call)
    this.push({ type: 'tool-call-end', call })
  }

  finish(end: FinishReason): void {
    for (const call of this.openCalls) this.endCall(call)
    const reason = end === 'stop' && this.said.calls.length > 0 ? 'tool-calls' : end
    this.push({ type: 'turn-end', reason })
    this.deliver()
    this.stream += this.adapter.close(settledCharge())
  }

  /** The same frames for a client that wants JSON. */
  asReply(): { output: EncodedItem[]; status: string } {
    const adapter = openEncoder({ fields: this.fields, delivery: 'json' }).translate(eventReader())
    for (const frame of this.frames) adapter.read(frame)
    return JSON.parse(String(adapter.close(settledCharge())))
  }

  fail(): void {
    this.deliver()
    this.stream += this.voice.fail(problem('upstream_error', 'It broke.'))
  }
}

interface EncodedItem {
  readonly type: string
  readonly call_id?: string
  readonly arguments?: string
  readonly input?: string
  readonly encrypted_content?: string
  readonly summary?: readonly { text: string }[]
  readonly content?: readonly { type: string; text?: string; refusal?: string; logprobs?: { token: string }[] }[]
}

/** The same, put together from the last response alone. */
function toldBy(output: readonly EncodedItem[]): Said {
  const told = nothingSaid()
  for (const item of output) {
    const callWords = item.arguments ?? item.input
    if (item.call_id !== undefined && callWords !== undefined)
      told.calls.push({
        callId: item.call_id,
        tool: item.type === 'custom_tool_call' ? 'custom' : 'function',
        words: callWords,
      })
    if (item.encrypted_content !== undefined) told.seals.push(item.encrypted_content)
    for (const { text } of item.summary ?? []) told.summary += text
    for (const part of item.content ?? []) {
      if (part.type === 'output_text') told.text += part.text
      if (part.type === 'refusal') told.refusal += part.refusal
      if (part.type === 'reasoning_text') told.reasoning += part.text
      for (const { token } of part.logprobs ?? []) told.tokens.push(token)
    }
  }
  return told
}

/** Ids go on counting where a lane before has used some. */
const withoutId = (item: EncodedItem): unknown => ({ ...item, id: undefined })

/** The words of all deltas, whatever they are part of. */
const wordsIn = (stream: string): string =>
  eventsOf(stream)
    .map(({ delta }) => (typeof delta === 'string' ? delta : ''))
    .join('')

const lengthOf = ({ text, refusal, reasoning, summary, calls }: Said): number =>
  [text, refusal, reasoning, summary, ...calls.map((call) => call.words)].join('').length

it('any answer is told by its grammar, and all of it', { timeout: 180_000 }, () => {
  const counts: Record<string, number> = {}
  fc.assert(
    fc.property(answers, ({ steps, end, summary, sealed }) => {
      const play = new Play({ summary, sealed }, counts)
      for (const step of steps) play.take(step)
      if (end === 'failure') play.fail()
      else play.finish(end)
      expect(checkResponsesStream(play.stream)).toEqual([])
      const events = eventsOf(play.stream)
      const { output, status } = events.at(-1)!.response as { output: EncodedItem[]; status: string }
      const told = toldBy(output)
      play.count(status)
      for (const item of output) play.count(item.type)
      play.counts.events = (play.counts.events ?? 0) + events.length
      expect(wordsIn(play.stream)).toHaveLength(lengthOf(told))
      if (end === 'failure') expectBeginning(told, play)
      else {
        expect(told).toEqual(sealed ? play.said : { ...play.said, seals: [] })
        // Whoever stores it gets what is sealed, whether the client has asked for that or not; but what only signs words, behind
        // them, is nothing to who does not see it.
        const stored = toldBy(play.storedItems())
        expect({ ...stored, seals: [] }).toEqual({ ...play.said, seals: [] })
        if (sealed) expect(stored.seals).toEqual(play.said.seals)
        else expect(play.said.seals.filter((seal) => stored.seals.includes(seal))).toEqual(stored.seals)
        const reply = play.asReply()
        expect([reply.status, reply.output.map(withoutId)]).toEqual([status, output.map(withoutId)])
      }
      if (counts[status]! % DOCUMENT_CHECKS_EVERY === 0) {
        const findings = events.flatMap((event) => document?.checkEvent(event) ?? [])
        expect(findings.filter(({ difference }) => difference === undefined)).toEqual([])
      }
      const { outputBytes, heldBytes } = play.adapter.state
      // Halves of a character weigh more apart than together.
      if (!steps.some((each) => 'words' in each && isHalf(each.words)))
        expect(Buffer.byteLength(wordsIn(play.stream))).toBe(outputBytes - heldBytes)
    }),
    { seed: SEED, numRuns: RUNS },
  )
  console.info(`any-answer: seed ${SEED}, ${RUNS} answers`, counts)
  const never = ['completed', 'incomplete', 'failed', 'message', 'reasoning', 'function_call', 'custom_tool_call']
  expect(never.filter((what) => !((counts[what] ?? 0) > 500))).toEqual([])
})

/** What had been said when it broke is the beginning of all that was heard; the rest had to wait. */
function expectBeginning(told: Said, { adapter, said }: Play): void {
  for (const name of ['text', 'refusal', 'reasoning', 'summary'] as const)
    expect(said[name].startsWith(told[name])).toBe(true)
  told.calls.forEach((call, at) => {
    expect(said.calls[at]?.callId).toBe(call.callId)
    expect(said.calls[at]?.words.startsWith(call.words)).toBe(true)
  })
  if (adapter.state.heldBytes === 0) expect(lengthOf(told)).toBe(lengthOf(said))
}
