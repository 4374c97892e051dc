import type { Dice, Json } from '../streams/dice.ts'
import { raw } from '../streams/values.ts'
import { CUSTOM_TOOL } from './answer.ts'
import type { Script } from './compose-script.ts'

/** What the request got to: its provider's body, and what its client was told is left out of it. */
export interface Sent {
  readonly body: string
  readonly ignored: string
}

/** What is wrong with it, in words. */
export type Check = (sent: Sent) => string | undefined

/** A conversation, and what has to become of it. */
export interface Inputs {
  /** Messages of Chat, items of Responses. */
  readonly turns: readonly Json[]
  /** What a schema says of a number. */
  readonly schema: Json
  /** Of tokens, where the client sets one. */
  readonly cap: number | undefined
  /** Words that arrive once each, in this order. */
  readonly words: readonly string[]
  readonly checks: readonly Check[]
}

type Received = Pick<Script, 'number' | 'wire' | 'protocol' | 'isGeneric' | 'tools'>

interface Composing {
  readonly dice: Dice
  readonly receivedRequest: Received
  readonly isChat: boolean
  readonly turns: Json[]
  readonly words: string[]
  readonly checks: Check[]
  /** Words that stand nowhere else. */
  mark(): string
}

const NUMBERS = [
  '9007199254740993',
  '1.10',
  '-0',
  '1e400',
  '12345678901234567890.123456789',
  '0.30000000000000004',
  '1E+2',
]

export function composeInputs(dice: Dice, receivedRequest: Received): Inputs {
  let marks = 0
  const composing: Composing = {
    ...{ dice, receivedRequest, isChat: receivedRequest.protocol === 'chat', turns: [], words: [], checks: [] },
    mark: () => `k${receivedRequest.number}q${marks++}z`,
  }
  const kinds = Object.values(KINDS).filter(({ isFor = () => true }) => isFor(receivedRequest))
  for (let left = dice.between(0, 4); left > 0; left--) dice.pick(kinds).add(composing)
  const { turns, words, checks } = composing
  return { turns, words, checks, schema: schemaOf(composing), cap: capOf(composing) }
}

/** Servers of OpenAI take none below 16. */
function capOf({ dice, receivedRequest: { wire, isGeneric }, checks }: Composing): number | undefined {
  if (!dice.onceIn(6)) return undefined
  const cap = dice.between(1, 20)
  const sent = wire === 'responses' && !isGeneric ? Math.max(cap, 16) : cap
  checks.push(({ body }) => {
    const [, found] = /"(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens)":(\d+)/.exec(body) ?? []
    return found === String(sent) ? undefined : `a cap of ${cap} has become ${found}`
  })
  return cap
}

function schemaOf({ dice, checks, mark }: Composing): Json {
  const [name, number] = [mark(), dice.pick(NUMBERS)]
  checks.push(hasNumber(name, number))
  return { type: 'object', properties: { [name]: { const: { [name]: raw(number) } } } }
}

/** Digit for digit, in an object or in a text that is one. */
const hasNumber =
  (name: string, number: string): Check =>
  ({ body }) => {
    const [, found] = new RegExp(`${name}\\\\*":\\s*(-?[\\d.eE+-]+)`).exec(body) ?? []
    return found === number ? undefined : `${number} has become ${found}`
  }

interface Kind {
  readonly isFor?: (receivedRequest: Received) => boolean
  add(composing: Composing): void
}

const KINDS: Readonly<Record<string, Kind>> = {
  words: { add: (composing) => emit(composing, 'user', [textPart(composing, 'user')]) },
  'words of the assistant': { add: (composing) => emit(composing, 'assistant', [textPart(composing, 'assistant')]) },
  'a mark for the cache': { add: addMarked },
  'words and a refusal': { add: addRefusal },
  'a past call': { add: addCall },
  'a past call of a custom tool': { isFor: ({ tools }) => tools === 'custom too', add: addCustomCall },
  'a file with a name': { add: addFile },
  'an item of an unknown type': { isFor: ({ protocol }) => protocol === 'responses', add: addUnknown },
}

function emit({ isChat, turns }: Composing, role: 'user' | 'assistant', content: readonly Json[]): void {
  turns.push(isChat ? { role, content } : { type: 'message', role, content })
}

function textPart({ isChat, words, mark }: Composing, role: 'user' | 'assistant'): Json {
  const text = mark()
  words.push(text)
  return { type: isChat ? 'text' : role === 'user' ? 'input_text' : 'output_text', text }
}

function addMarked(composing: Composing): void {
  const { receivedRequest, dice, isChat, checks } = composing
  const name = isChat || dice.onceIn(2) ? 'cache_control' : 'prompt_cache_breakpoint'
  const mark = name === 'cache_control' ? { type: 'ephemeral' } : { mode: 'explicit' }
  emit(composing, 'user', [{ ...textPart(composing, 'user'), [name]: mark }])
  checks.push(({ body, ignored }) => {
    if (receivedRequest.wire === 'anthropic')
      return body.includes('"cache_control"') ? undefined : 'a mark for the cache is lost'
    if (body.includes(`"${name}"`) || ignored.includes(name)) return undefined
    return `${name} is lost, and not named`
  })
}

function addRefusal(composing: Composing): void {
  const part = textPart(composing, 'assistant')
  const refusal = composing.mark()
  composing.words.push(refusal)
  emit(composing, 'assistant', [part, { type: 'refusal', refusal }])
  composing.checks.push(({ body }) =>
    body.includes(`${part.text}${refusal}`) ? 'a refusal goes on in the word before it' : undefined,
  )
}

function addCall({ dice, isChat, turns, words, checks, mark }: Composing): void {
  const [id, name, number, output] = [mark(), mark(), dice.pick(NUMBERS), mark()]
  const written = `{"${name}":${number}}`
  if (isChat) {
    const call = { id, type: 'function', function: { name: 'look', arguments: written } }
    turns.push({ role: 'assistant', content: null, tool_calls: [call] })
    turns.push({ role: 'tool', tool_call_id: id, content: output })
  } else {
    turns.push({ type: 'function_call', call_id: id, name: 'look', arguments: written })
    turns.push({ type: 'function_call_output', call_id: id, output })
  }
  words.push(name, output)
  checks.push(hasNumber(name, number))
}

function addCustomCall({ receivedRequest, isChat, turns, words, checks, mark }: Composing): void {
  const [id, input, output] = [mark(), mark(), mark()]
  if (isChat) {
    const call = { id, type: 'custom', custom: { name: CUSTOM_TOOL, input } }
    turns.push({ role: 'assistant', content: null, tool_calls: [call] })
    turns.push({ role: 'tool', tool_call_id: id, content: output })
  } else {
    turns.push({ type: 'custom_tool_call', call_id: id, name: CUSTOM_TOOL, input })
    turns.push({ type: 'custom_tool_call_output', call_id: id, output })
  }
  words.push(input, output)
  const knowsFunctionsOnly =
    receivedRequest.isGeneric || receivedRequest.wire === 'anthropic' || receivedRequest.wire === 'gemini'
  checks.push(({ body }) =>
    knowsFunctionsOnly && /"type":\s*"custom/.test(body) ? 'a custom tool goes to a server that has none' : undefined,
  )
}

function addFile(composing: Composing): void {
  const { isChat, words, mark } = composing
  const filename = `${mark()}.pdf`
  const file = { file_data: 'data:application/pdf;base64,JVBERi0xLjQK', filename }
  words.push(filename)
  emit(composing, 'user', [isChat ? { type: 'file', file } : { type: 'input_file', ...file }])
}

function addUnknown({ turns, checks, mark }: Composing): void {
  const words = mark()
  turns.push({ type: 'crystal_ball_call', words })
  checks.push(({ body, ignored }) => {
    if (body.includes(words)) return 'an item of an unknown type goes to a provider'
    return ignored.includes('.crystal_ball_call') ? undefined : 'an item of an unknown type is dropped, and not named'
  })
}

/** What is wrong with what the provider was sent; undefined for nothing. */
export function faultInSent({ words, checks }: Inputs, sent: Sent): string | undefined {
  let behind = 0
  for (const word of words) {
    const at = sent.body.indexOf(word)
    if (at === -1) return `${word} is lost`
    if (sent.body.indexOf(word, at + word.length) !== -1) return `${word} goes twice`
    if (at < behind) return `${word} has changed its place`
    behind = at
  }
  return checks.map((check) => check(sent)).find((fault) => fault !== undefined)
}
