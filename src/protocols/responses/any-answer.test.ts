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
const RUNS = Number(process.env.ANY_ANSWERS ?? 400)
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

interface ClientOptions {
  readonly summary: boolean
  readonly sealed: boolean
}

/** The content of an answer, from its turn events. */
interface Content {
  text: string
  refusal: string
  reasoning: string
  summary: string
  readonly calls: { readonly callId: string; readonly tool: ToolKind; words: string }[]
  seals: string[]
  readonly tokens: string[]
}

const noContent = (): Content => ({
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

/** Plays the steps that are possible in their place, and collects their content. */
class Play {
  readonly encoder: ResponsesEncoder
  adapter: StreamAdapter
  stream = ''
  content = noContent()
  hasContent = false
  readonly openCalls = new Set<number>()
  readonly counts: Record<string, number>
  private frame: TurnEvent[] = []
  private frames: Buffer[] = []
  private seals = 0

  readonly options: ClientOptions
  private readonly fields: Record<string, unknown>

  constructor(options: ClientOptions, counts: Record<string, number>) {
    this.options = options
    this.fields = {
      ...(options.summary ? { reasoning: { summary: 'auto' } } : {}),
      ...(options.sealed ? { include: ['reasoning.encrypted_content'] } : {}),
    }
    this.encoder = openEncoder({ fields: this.fields })
    this.adapter = this.encoder.translate(eventReader())
    this.counts = counts
  }

  storedItems(): readonly EncodedItem[] {
    return this.encoder.storedItems() as readonly unknown[] as readonly EncodedItem[]
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
    else if (step.do === 'token') this.addToken(step.words)
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
    this.stream += this.encoder.keepAlive()
  }

  private changeLane(): void {
    if (this.hasContent) return
    this.count('lanes that failed before content')
    this.frame = []
    this.frames = []
    this.content = noContent()
    this.adapter = this.encoder.translate(eventReader())
  }

  private say(as: 'text' | 'refusal' | 'reasoning' | 'summary', words: string): void {
    // Raw reasoning becomes a summary where the client asked for summaries.
    this.content[as === 'reasoning' && this.options.summary ? 'summary' : as] += words
    this.push({ type: `${as}-delta`, text: words })
  }

  private addToken(words: string): void {
    this.content.text += words
    this.content.tokens.push(words)
    this.push({ type: 'text-delta', text: words, logprobs: [{ token: words, logprob: -1, bytes: undefined, top: [] }] })
  }

  private seal(): void {
    this.seals += 1
    const data = `seal-${this.seals}`
    const opaque = { wire: 'responses', origin: 'lane', data } as const
    this.content.seals.push(plainSeal(opaque))
    this.push({ type: 'reasoning-seal', opaque })
  }

  private beginCall(tool: ToolKind, namespace: string | undefined): void {
    const call = this.content.calls.length
    const callId = `call_${call}`
    this.content.calls.push({ callId, tool, words: '' })
    this.openCalls.add(call)
    if (this.openCalls.size > 1) this.count('calls beside an open one')
    this.push({ type: 'tool-call-start', call, callId, name: `tool_${call}`, namespace, tool })
  }

  private goOnCalling({ do: what, which, words }: Extract<Step, { which: number }>): void {
    const call = [...this.openCalls][which % this.openCalls.size]
    const content = this.content.calls[call ?? -1]
    if (call === undefined || content === undefined) return
    if (what === 'end-call') return void this.endCall(call)
    content.words += words
    this.push({ type: 'tool-call-delta', call, text: words })
  }

  endCall(call: number): void {
    this.openCalls.delete(call)
    this.push({ type: 'tool-call-end', call })
  }

  finish(end: FinishReason): void {
    for (const call of this.openCalls) this.endCall(call)
    const reason = end === 'stop' && this.content.calls.length > 0 ? 'tool-calls' : end
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
    this.stream += this.encoder.fail(problem('upstream_error', 'It broke.'))
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

/** The same from the last response. */
function contentOf(output: readonly EncodedItem[]): Content {
  const content = noContent()
  for (const item of output) {
    const callText = item.arguments ?? item.input
    if (item.call_id !== undefined && callText !== undefined)
      content.calls.push({
        callId: item.call_id,
        tool: item.type === 'custom_tool_call' ? 'custom' : 'function',
        words: callText,
      })
    if (item.encrypted_content !== undefined) content.seals.push(item.encrypted_content)
    for (const { text } of item.summary ?? []) content.summary += text
    for (const part of item.content ?? []) {
      if (part.type === 'output_text') content.text += part.text
      if (part.type === 'refusal') content.refusal += part.refusal
      if (part.type === 'reasoning_text') content.reasoning += part.text
      for (const { token } of part.logprobs ?? []) content.tokens.push(token)
    }
  }
  return content
}

/** An earlier lane may have used some ids. */
const withoutId = (item: EncodedItem): unknown => ({ ...item, id: undefined })

/** The text of all deltas. */
const wordsIn = (stream: string): string =>
  eventsOf(stream)
    .map(({ delta }) => (typeof delta === 'string' ? delta : ''))
    .join('')

const lengthOf = ({ text, refusal, reasoning, summary, calls }: Content): number =>
  [text, refusal, reasoning, summary, ...calls.map((call) => call.words)].join('').length

it('any answer follows the grammar and is complete', { timeout: 180_000 }, () => {
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
      const content = contentOf(output)
      play.count(status)
      for (const item of output) play.count(item.type)
      play.counts.events = (play.counts.events ?? 0) + events.length
      expect(wordsIn(play.stream)).toHaveLength(lengthOf(content))
      if (end === 'failure') expectBeginning(content, play)
      else {
        expect(content).toEqual(sealed ? play.content : { ...play.content, seals: [] })
        // The store gets sealed data whether the client asked for it or not, except for a signature behind the last message
        // that the client does not see.
        const stored = contentOf(play.storedItems())
        expect({ ...stored, seals: [] }).toEqual({ ...play.content, seals: [] })
        if (sealed) expect(stored.seals).toEqual(play.content.seals)
        else expect(play.content.seals.filter((seal) => stored.seals.includes(seal))).toEqual(stored.seals)
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
  expect(never.filter((what) => !((counts[what] ?? 0) > RUNS / 10))).toEqual([])
})

/** The content that was sent before the failure is a prefix of all content; the rest was held. */
function expectBeginning(sent: Content, { adapter, content }: Play): void {
  for (const name of ['text', 'refusal', 'reasoning', 'summary'] as const)
    expect(content[name].startsWith(sent[name])).toBe(true)
  sent.calls.forEach((call, at) => {
    expect(content.calls[at]?.callId).toBe(call.callId)
    expect(content.calls[at]?.words.startsWith(call.words)).toBe(true)
  })
  if (adapter.state.heldBytes === 0) expect(lengthOf(sent)).toBe(lengthOf(content))
}
