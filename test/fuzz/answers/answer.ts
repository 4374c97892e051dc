import { type Fields, isObject } from '../../../src/lib/types.ts'

// What a whole answer says, to either of its readers: the oracle of a provider's wire, or the client of the gateway.

export interface OutputCall {
  readonly tool: 'function' | 'custom'
  readonly name: string
  /** Arguments as JSON, or the input of a custom tool; undefined where that was spoiled, so that any is as good. */
  readonly words: string | undefined
}

/** The one tool of the clients here that takes free text. */
export const CUSTOM_TOOL = 'own'

export type Finish = 'stop' | 'length' | 'tool-calls' | 'content-filter'

export interface OutputChoice {
  readonly text: string
  readonly refusal: string
  /** Each is what was said; none where its provider disagrees with itself. */
  readonly reasoning: readonly string[]
  readonly calls: readonly OutputCall[]
  readonly finish: Finish
}

export interface Counts {
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly thought: number
}

export interface Answer {
  readonly choices: readonly OutputChoice[]
  /** Undefined where it is not known for certain. */
  readonly counts: Counts | undefined
}

/** It is no answer, and no reader may take it for one. */
export class Broken extends Error {}

/** Several texts or reasonings are one in Chat, with an empty line between. */
const BREAK = '\n\n'

/** How two answers differ, in words; undefined for not at all. */
export function differenceOf(reported: Answer, meant: Answer): string | undefined {
  if (reported.choices.length !== meant.choices.length)
    return `${reported.choices.length} choices instead of ${meant.choices.length}`
  for (const [at, choice] of reported.choices.entries()) {
    const difference = differenceOfChoices(choice, meant.choices[at]!)
    if (difference !== undefined) return `choice ${at}: ${difference}`
  }
  if (meant.counts === undefined || reported.counts === undefined) return undefined
  const [one, other] = [reported.counts, meant.counts].map((counts) => JSON.stringify(counts))
  return one === other ? undefined : `counts ${one} instead of ${other}`
}

function differenceOfChoices(reported: OutputChoice, meant: OutputChoice): string | undefined {
  const other = (what: string, one: unknown, two: unknown) =>
    `${what} ${JSON.stringify(one)} instead of ${JSON.stringify(two)}`
  for (const slot of ['text', 'refusal'] as const)
    if (!isSame(reported[slot], meant[slot])) return other(slot, reported[slot], meant[slot])
  const [reasoning = ''] = reported.reasoning
  const isMeant = meant.reasoning.length === 0 || meant.reasoning.some((one) => isSame(reasoning, one))
  if (!isMeant) return other('reasoning', reasoning, meant.reasoning)
  const known = reported.calls.map((call, at) =>
    meant.calls[at]?.words === undefined ? { ...call, words: undefined } : call,
  )
  const [calls, meantCalls] = [known.map(plainCall), meant.calls.map(plainCall)]
  if (JSON.stringify(calls) !== JSON.stringify(meantCalls)) return other('calls', calls, meantCalls)
  return reported.finish === meant.finish ? undefined : other('finish', reported.finish, meant.finish)
}

const isSame = (reported: string, meant: string): boolean => withoutBreaks(reported) === withoutBreaks(meant)
const withoutBreaks = (text: string): string => text.replaceAll(BREAK, '')

/** Arguments by what they mean, with every digit of their numbers. */
const plainCall = ({ tool, name, words }: OutputCall) => [
  tool,
  name,
  tool === 'custom' ? words : exactJson(words || '{}'),
]

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The same back as JSON. */
export const jsonOfExact = (exact: unknown): string => JSON.stringify(exact).replace(/"number ([^"]*)"/g, '$1')

/** JSON with its numbers as texts: no digit of them is lost to a double. The text itself where it is none. */
export function exactJson(text: string): unknown {
  const marked = text.replace(TOKEN, (token) => (token.startsWith('"') ? token : `"number ${token}"`))
  return isJson(text) ? JSON.parse(marked) : text
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Arguments of calls, by how their answer ended: none are `{}`, and only those of the last call of a cut answer may be cut. */
export function checkedCalls(calls: readonly FunctionCall[], finish: Finish): OutputCall[] {
  const isCut = finish === 'length' || finish === 'content-filter'
  return calls.map((call, at) => {
    if (call.name === '') throw new Broken('a call without a name')
    if (call.name === CUSTOM_TOOL) return { tool: 'custom', name: call.name, words: inputIn(call.words) }
    if (isJson(call.words)) return call
    if (call.words.trim() === '') return { ...call, words: '{}' }
    if (!isCut || at < calls.length - 1 || !mayGoOn(call.words)) throw new Broken('arguments that are no JSON')
    return call
  })
}

/** As providers have them. */
export type FunctionCall = OutputCall & { readonly tool: 'function'; readonly words: string }

function inputIn(words: string): string | undefined {
  const value: unknown = isJson(words) ? JSON.parse(words) : undefined
  const isWhole = isObject(value) && typeof value.input === 'string' && Object.keys(value).length === 1
  return isWhole ? (value.input as string) : undefined
}

/** Whether more of it may make it JSON: V8 says that it ended too early, or finds fault with its end. */
export function mayGoOn(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const [, position = 0] = /at position (\d+)/.exec(String(error)) ?? []
    return /Unexpected end/.test(String(error)) || Number(position) >= text.length
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const countIn = (fields: Fields, name: string): number => {
  const value = fields[name]
  return typeof value === 'number' ? value : 0
}
