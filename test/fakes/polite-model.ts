import { type Fields, isObject } from '../../src/lib/types.ts'

/** A conversation as a model understands it, whichever protocol it came in. */
export interface ParsedRequest {
  readonly steps: readonly Step[]
  readonly tools: readonly ParsedTool[]
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string }
  readonly effort: string | undefined
  /** What the answer has to be like, where it has to be JSON. */
  readonly schema: Fields | undefined
}

export interface Step {
  readonly from: 'user' | 'assistant' | 'call' | 'result'
  readonly text: string
  /** Of the tool that is called. */
  readonly name?: string
}

export interface ParsedTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | undefined
  readonly parameters: Fields
}

export interface Saying {
  readonly thoughts: readonly string[]
  readonly words: readonly string[]
  readonly calls: readonly OutputCall[]
}

export interface OutputCall extends Omit<ParsedTool, 'parameters'> {
  /** Arguments of a function, or the input of a custom tool. */
  readonly text: string
  /** For a conversation that is long enough to meet the same place again. */
  readonly id?: string
}

export interface Counted {
  readonly input: number
  /** Of the input, what was read from a cache, and what was written into one. */
  readonly cached: number
  readonly written?: number
  readonly output: number
  /** Of the output; one for each piece of thought unless it is told. */
  readonly reasoning?: number
}

/** What thinks and counts behind the wire of a provider. */
export interface ModelState {
  sayingOf(parsedRequest: ParsedRequest): Saying
  countsOf(receivedRequest: Fields, parsedRequest: ParsedRequest, saying: Saying): Counted
}

export const reasoningTokens = ({ reasoning }: Counted, { thoughts }: Saying): number => reasoning ?? thoughts.length

export const callId = ({ id }: OutputCall, index: number): string => id ?? `call_fake_${index}`

/**
 * What a model says that does as it is told: it counts, calls the tools whose names it hears (all at once, or after one
 * another where it hears "then"), repeats what they gave, and writes JSON by its schema. The demo says much the same. Asked
 * to recall a word it says where it heard it, and asked for a summary what it was told.
 */
export function sayingOf(parsedRequest: ParsedRequest): Saying {
  const thoughts = parsedRequest.effort === undefined || parsedRequest.effort === 'none' ? [] : ['Let me', ' think.']
  const calls = callsOf(parsedRequest)
  if (calls.length > 0) return { thoughts, words: [], calls }
  return { thoughts, words: answerOf(parsedRequest).match(/\s*\S+/g) ?? [], calls: [] }
}

export const POLITE: ModelState = {
  sayingOf,
  countsOf: (_asked, { steps }, { thoughts, words, calls }) => ({
    input: 10 * steps.length,
    cached: 0,
    output: thoughts.length + words.length + 5 * calls.length,
  }),
}

/** The words of one turn as they were said: a sentence that was cut into parts is one, and whatever else stands for itself. */
export function joinSentences(steps: readonly Step[]): Step[] {
  const joined: Step[] = []
  for (const step of steps) {
    const last = joined.at(-1)
    const goesOn = last?.from === 'user' && step.from === 'user' && last.text.endsWith(' ')
    if (goesOn) joined[joined.length - 1] = { ...last, text: last.text + step.text }
    else joined.push(step)
  }
  return joined
}

/** The name of a tool as it is said in words. */
export const outputName = ({ name, namespace }: Omit<ParsedTool, 'kind' | 'parameters'>): string =>
  namespace === undefined ? name : `${namespace}__${name}`

function callsOf(parsedRequest: ParsedRequest): OutputCall[] {
  const { steps, tools, choice } = parsedRequest
  const receivedRequest = steps.findLastIndex(({ from }) => from === 'user')
  const since = steps.slice(receivedRequest + 1)
  if (choice === 'none') return []
  if (choice === 'required') return since.length === 0 ? tools.slice(0, 1).map(callOf) : []
  if (typeof choice === 'object') return tools.filter((tool) => outputName(tool) === choice.name).map(callOf)
  const question = steps[receivedRequest]?.text ?? ''
  const called = new Set(since.map(({ name }) => name))
  const named = new Set(question.match(/[\w-]+/g))
  const wanted = tools.filter((tool) => named.has(outputName(tool)) && !called.has(outputName(tool)))
  return wanted.slice(0, named.has('then') ? 1 : undefined).map(callOf)
}

const callOf = ({ parameters, ...tool }: ParsedTool): OutputCall => ({
  ...tool,
  text: tool.kind === 'custom' ? 'demo' : JSON.stringify(exampleOf(parameters)),
})

const RECALL = /^Now recall (\w+)/

function answerOf({ steps, schema }: ParsedRequest): string {
  if (schema) return JSON.stringify(exampleOf(schema))
  const receivedRequest = steps.findLastIndex(({ from }) => from === 'user')
  const results = steps.slice(receivedRequest + 1).filter(({ from }) => from === 'result')
  if (results.length > 0) return `The tool said: ${results.map(({ text }) => `"${text}"`).join(' and ')}.`
  const question = steps[receivedRequest]?.text ?? ''
  const count = /\bcount to (\d+)\b/.exec(question)?.[1]
  if (count) return Array.from({ length: Number(count) }, (_, index) => index + 1).join(' ')
  const before = steps.slice(0, Math.max(receivedRequest, 0)).filter(({ from }) => from === 'user' || from === 'result')
  const word = RECALL.exec(question)?.[1]
  const parsedOutput = before.findLast(({ text }) => text.includes(word ?? '') && !RECALL.test(text))
  if (word) return `I heard: "${parsedOutput?.text ?? 'nothing of it'}".`
  if (question.includes('Write the summary')) return before.map(({ text }) => text).join('\n')
  return `You said: "${question}".`
}

/** A value that fits a schema, as far as the tests have schemas. */
function exampleOf(schema: Fields): unknown {
  if (Array.isArray(schema.enum)) return schema.enum[0]
  switch (schema.type) {
    case 'string':
      return 'demo'
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return true
    case 'array':
      return []
    default: {
      const properties = Object.entries(isObject(schema.properties) ? schema.properties : {})
      return Object.fromEntries(properties.map(([name, inner]) => [name, exampleOf(isObject(inner) ? inner : {})]))
    }
  }
}
