/** A call whose result the user enters. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface TurnFacts {
  readonly state: 'done' | 'stopped' | 'failed'
  readonly model: string
  readonly requestId: string | null
  readonly firstMs: number | undefined
  readonly totalMs: number
  /** How long the model reasoned before its answer. */
  readonly reasoningMs?: number | undefined
  readonly usage: AnswerUsage | undefined
  readonly finish: string | undefined
}

/** One message, independent of the protocol, so that a conversation can switch protocols. */
export type Message =
  | {
      readonly by: 'user'
      readonly id: number
      readonly text: string
      /** As data URLs. */
      readonly images?: readonly string[]
    }
  | {
      readonly by: 'model'
      readonly id: number
      readonly text: string
      readonly reasoning: string
      readonly calls: readonly ToolCall[]
      /** The output items of a Responses answer, unchanged, because encrypted reasoning must be sent back as it was. */
      readonly items: readonly unknown[] | undefined
      readonly facts: TurnFacts
    }
  | { readonly by: 'tool'; readonly id: number; readonly call: string; readonly text: string }

export type UserMessage = Extract<Message, { by: 'user' }>
export type ModelMessage = Extract<Message, { by: 'model' }>

/** The calls at the end of the conversation that have no result yet. */
export function openCalls(history: readonly Message[]): ToolCall[] {
  const last = history.findLast((each) => each.by === 'model')
  const answered = new Set(history.flatMap((each) => (each.by === 'tool' ? [each.call] : [])))
  return last?.calls.filter(({ id }) => !answered.has(id)) ?? []
}

/** The answer as streamed so far. */
export interface Answer {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ToolCall[]
  readonly items: readonly unknown[] | undefined
  readonly usage: AnswerUsage | undefined
  /** `stop`, `length`, `tool_calls`, `completed`, `incomplete` … */
  readonly finish: string | undefined
  readonly failure: { readonly code: string; readonly message: string } | undefined
  /** True after the final event of the protocol. Without it the stream was cut off. */
  readonly ended: boolean
}

interface AnswerUsage {
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly reasoning: number
  /** Null if the server sent none. Millrace always sends one. */
  readonly charge: string | null
  readonly estimated: boolean
}

export const NO_ANSWER: Answer = {
  text: '',
  reasoning: '',
  calls: [],
  items: undefined,
  usage: undefined,
  finish: undefined,
  failure: undefined,
  ended: false,
}

export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const countOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

const MONEY = /^-?\d+\.\d{1,9}$/

interface UsageNames {
  readonly side: 'prompt' | 'input'
  readonly other: 'completion' | 'output'
}

/** The protocols use different names for tokens and the same one for the charge. */
export function readUsage(given: unknown, { side, other }: UsageNames): AnswerUsage | undefined {
  const usage = fieldsOf(given)
  if (typeof usage[`${side}_tokens`] !== 'number') return undefined
  const { charge, estimated } = fieldsOf(usage.millrace)
  return {
    input: countOf(usage[`${side}_tokens`]),
    cached: countOf(fieldsOf(usage[`${side}_tokens_details`]).cached_tokens),
    output: countOf(usage[`${other}_tokens`]),
    reasoning: countOf(fieldsOf(usage[`${other}_tokens_details`]).reasoning_tokens),
    charge: typeof charge === 'string' && MONEY.test(charge) ? charge : null,
    estimated: estimated === true,
  }
}

export function readFailure(given: unknown): Answer['failure'] {
  const { code, message } = fieldsOf(given)
  return { code: textOf(code) || 'unexpected', message: textOf(message) }
}
