import { type Fields, isObject } from '../../lib/types.ts'
import type { DemoQuestion, DemoRequest, DemoTool } from './demo-request.ts'

/** The demo's answer in pieces that count as one token each. All choices are the same. */
export interface DemoReply {
  readonly choices: number
  readonly reasoning: readonly string[]
  /** Starts over with each call; a long answer is never in memory as a whole. */
  words(): Iterable<string>
  readonly call: { readonly name: string; readonly arguments: string } | undefined
  readonly finish: 'stop' | 'length' | 'tool_calls'
  readonly promptTokens: number
  readonly completionTokens: number
  readonly reasoningTokens: number
}

const CHARACTERS_PER_TOKEN = 4
const COUNT_MAX = 100_000
const QUOTED_MAX = 200

/** More effort is more reasoning, so that the effort shows in the usage. */
const THOUGHT_PIECES: Readonly<Record<string, number>> = {
  minimal: 4,
  low: 8,
  medium: 16,
  high: 32,
  xhigh: 48,
  max: 64,
}

/** The same question gets the same answer, so that tests and first steps are repeatable. */
export function composeReply(request: DemoRequest): DemoReply {
  const { choices, promptTokens, outputCap } = request
  const thoughts = THOUGHT_PIECES[request.effort ?? ''] ?? 0
  const reasoning = Array.from({ length: Math.min(thoughts, outputCap) }, (_, index) =>
    index === 0 ? 'Thinking' : index % 8 === 0 ? ' further' : '.',
  )
  const answer = answerWithin(request, outputCap - reasoning.length)
  return {
    choices,
    reasoning,
    promptTokens,
    words: answer.words,
    call: answer.call,
    finish: answer.finish,
    completionTokens: (reasoning.length + answer.tokens) * choices,
    reasoningTokens: reasoning.length * choices,
  }
}

type DemoAnswer = Pick<DemoReply, 'words' | 'call' | 'finish'> & { readonly tokens: number }

const NO_WORDS = () => []

/** Guesses what a question is about: quoted text, a path, or a capitalised name that is not its first word. */
function subjectOf(question: string): string | undefined {
  const quoted = /["'`“]([^"'`“”\n]{1,80})["'`”]/.exec(question)?.[1]
  const path = /(?:^|\s)([\w.-]*[./][\w./-]*\w)/.exec(question)?.[1]
  const name = /\w[^.!?\n]*?\s(\p{Lu}[\p{L}-]+(?:\s\p{Lu}[\p{L}-]+)*)/u.exec(question)?.[1]
  return quoted ?? path ?? name
}

function answerWithin(request: DemoRequest, room: number): DemoAnswer {
  if (room === 0) return { words: NO_WORDS, call: undefined, finish: 'length', tokens: 0 }
  return request.tool ? callOf(request.tool, request.question, room) : wordsOf(request, room)
}

function callOf(tool: DemoTool, { end }: DemoQuestion, room: number): DemoAnswer {
  const written = exampleJson(tool.parameters, subjectOf(end))
  const tokens = Math.ceil(written.length / CHARACTERS_PER_TOKEN) + 1
  if (tokens <= room) {
    return { words: NO_WORDS, call: { name: tool.name, arguments: written }, finish: 'tool_calls', tokens }
  }
  const truncated = written.slice(0, (room - 1) * CHARACTERS_PER_TOKEN)
  return { words: NO_WORDS, call: { name: tool.name, arguments: truncated }, finish: 'length', tokens: room }
}

function wordsOf({ question, stop, schema }: DemoRequest, room: number): DemoAnswer {
  const answer = schema ? wordsIn(exampleJson(schema)) : answerTo(question)
  const end = stop.length === 0 ? undefined : placeOfStop(answer, stop)
  const words = () => firstOf(answer(), room, end)
  // One word more than fits shows that the answer is truncated.
  const wanted = countOf(firstOf(answer(), room + 1, end))
  return { words, call: undefined, finish: wanted > room ? 'length' : 'stop', tokens: Math.min(wanted, room) }
}

/** One word at a time, because composing a long answer at once would block the server's thread. */
type Words = () => Iterable<string>

function answerTo({ from, start, end }: DemoQuestion): Words {
  if (from === 'tool') return wordsIn(`The tool said: ${quoted(start)}. This is Millrace's built-in demo model.`)
  const count = /\bcount to (\d{1,6})\b/i.exec(end)?.[1]
  if (count) return () => numbersTo(Math.min(Number(count), COUNT_MAX))
  const echo = start.trim() === '' ? 'You said nothing.' : `You said: ${quoted(start)}.`
  return wordsIn(
    `Hello from Millrace's built-in demo model. ${echo} No provider was asked; connect one in millrace.yaml to talk to a real model.`,
  )
}

const wordsIn = (text: string): Words => {
  const words = text.match(/\s*\S+/g) ?? []
  return () => words
}

function* numbersTo(last: number): Iterable<string> {
  for (let number = 1; number <= last; number++) yield number === 1 ? '1' : ` ${number}`
}

const quoted = (start: string): string => {
  const text = start.trim().replace(/\s+/g, ' ')
  return `"${text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text}"`
}

/** At most this many words, and no character beyond the end. */
function* firstOf(words: Iterable<string>, wordsMax: number, end = Number.POSITIVE_INFINITY): Iterable<string> {
  let count = 0
  let length = 0
  for (const word of words) {
    if (count === wordsMax || length >= end) return
    yield word.slice(0, end - length)
    count++
    length += word.length
  }
}

function placeOfStop(answer: Words, stops: readonly string[]): number | undefined {
  const text = [...answer()].join('')
  const places = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1)
  return places.length === 0 ? undefined : Math.min(...places)
}

function countOf(words: Iterable<string>): number {
  let count = 0
  for (const _word of words) count++
  return count
}

const STRING = 'demo'
/** The most characters of an example, without brackets, quotes and escapes. */
const ROOM = 4000
/** What each value takes besides its name; its first characters are free. */
const VALUE_ROOM = 20
/** The schemas that one value is composed from. */
const PARTS_MAX = 20
/** More than the room allows. */
const REQUIRED_MAX = ROOM / VALUE_ROOM
const REFERENCE_MAX = 200

/**
 * An example of a schema of a tool or an answer. It may miss a pattern, or what two schemas demand together. Free text is the
 * subject of the question, if that is known. The client writes the schema, so the work is bounded: where the room is used up, and
 * inside itself, a schema gets the smallest value.
 */
export function exampleJson(schema: Fields, subject = STRING): string {
  return JSON.stringify(exampleOf(schema, { root: schema, subject, room: new Room(), around: new Set() }))
}

interface Place {
  readonly root: Fields
  readonly subject: string
  readonly room: Room
  /** The schemas around this value. */
  readonly around: ReadonlySet<unknown>
}

class Room {
  left = ROOM

  /** What does not fit uses up the rest, to end the work soon. */
  take(characters: number): boolean {
    const fits = characters <= this.left
    this.left = fits ? this.left - characters : 0
    return fits
  }

  takeText(characters: number): boolean {
    return characters <= VALUE_ROOM || this.take(characters)
  }

  takeGiven(value: unknown): boolean {
    if (typeof value === 'string') return this.takeText(value.length)
    if (typeof value !== 'object' || value === null) return value !== undefined
    return this.left > 0 && this.take(JSON.stringify(value).length)
  }
}

function exampleOf(given: Fields, place: Place): unknown {
  const parts = partsOf(given, place)
  const schema = keywordsOf(parts)
  const value = [listOf(schema.enum)[0], schema.const, schema.default].find((each) => each !== undefined)
  if (place.room.takeGiven(value)) return value
  const inner = { ...place, around: new Set([...place.around, ...parts]) }
  switch (typeOf(schema)) {
    case 'string':
      return exampleText(schema, place)
    case 'number':
    case 'integer':
      return exampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return exampleArray(schema, inner)
    default:
      return exampleObject(parts, inner)
  }
}

/** A schema, what it refers to, the first of its alternatives, and its `allOf`. */
function partsOf(given: Fields, { root, around }: Place): readonly Fields[] {
  const parts = [given]
  const targetOf = ({ $ref }: Fields) => (typeof $ref === 'string' ? lookUp($ref, root) : undefined)
  const isInside = (part: unknown) => around.has(part) || parts.some((each) => each === part)
  const chosenOf = (alternatives: unknown) => {
    const options = listOf(alternatives).filter(isObject)
    return (
      options.find((option) => option.type !== 'null' && !isInside(targetOf(option))) ??
      options.find(({ type }) => type === 'null')
    )
  }
  for (const part of parts) {
    for (const more of [targetOf(part), chosenOf(part.anyOf), chosenOf(part.oneOf), ...listOf(part.allOf)]) {
      if (parts.length === PARTS_MAX) return parts
      if (isObject(more) && !isInside(more)) parts.push(more)
    }
  }
  return parts
}

const KEYWORDS = [
  ...['enum', 'const', 'default', 'type', 'items', 'minItems', 'format', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]

/** The last part that has a keyword decides on it. */
const keywordsOf = (parts: readonly Fields[]): Fields =>
  Object.fromEntries(KEYWORDS.map((name) => [name, parts.findLast((part) => part[name] !== undefined)?.[name]]))

const listOf = (value: unknown, most = PARTS_MAX): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, most) : []

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

/** Resolves only references within the schema, such as `#/$defs/name`. */
function lookUp(reference: string, root: Fields): unknown {
  if (reference.length > REFERENCE_MAX) return undefined
  const [start, ...steps] = reference.split('/')
  if (start !== '#') return undefined
  return steps.reduce<unknown>((at, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, root)
}

function typeOf({ type, items, minimum, maximum }: Fields): unknown {
  if (Array.isArray(type)) return listOf(type).find((each) => each !== 'null')
  if (type !== undefined) return type
  if (items !== undefined) return 'array'
  return minimum === undefined && maximum === undefined ? 'object' : 'number'
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T12:00:00Z',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'demo@example.com',
  uri: 'https://example.com/demo',
  url: 'https://example.com/demo',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function exampleText({ format, minLength, maxLength }: Fields, { subject, room }: Place): string {
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format)) return FORMATS[format]!
  const least = Math.min(boundOf(minLength, 0), TEXT_MAX)
  const text = subject.padEnd(least, '.').slice(0, Math.max(boundOf(maxLength, TEXT_MAX), 0))
  return room.takeText(text.length) ? text : text.slice(0, VALUE_ROOM)
}

/** Limits on our side: a schema that demands more is not satisfied. */
const TEXT_MAX = 1000
const ITEMS_MAX = 20

const boundOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)

function exampleNumber({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: Fields): number {
  const step = boundOf(multipleOf, type === 'integer' ? 1 : 0)
  const least = Math.max(
    boundOf(minimum, Number.NEGATIVE_INFINITY),
    boundOf(exclusiveMinimum, Number.NEGATIVE_INFINITY),
  )
  const most = Math.min(boundOf(maximum, Number.POSITIVE_INFINITY), boundOf(exclusiveMaximum, Number.POSITIVE_INFINITY))
  const inside = Math.min(Math.max(1, least), most)
  const isWithin = (value: number) =>
    value >= least && value <= most && value !== exclusiveMinimum && value !== exclusiveMaximum
  const whole = step > 0 ? [Math.ceil(inside / step), Math.floor(inside / step)].map((count) => count * step) : [inside]
  const near = whole.flatMap((value) => [value, value + (step || 1), value - (step || 1)])
  return [...near, (least + most) / 2].find(isWithin) ?? inside
}

function exampleArray({ items, minItems }: Fields, place: Place): unknown[] {
  const places = Array.from({ length: Math.min(boundOf(minItems, 0), ITEMS_MAX) })
  return places.filter(() => place.room.take(VALUE_ROOM)).map(() => exampleOf(fieldsOf(items), place))
}

/** The required properties, or all of them. Room is taken for all of them before any is filled. */
function exampleObject(parts: readonly Fields[], place: Place): Fields {
  const { room } = place
  if (room.left === 0) return {}
  const lists = parts.flatMap(({ required }) => (Array.isArray(required) ? [listOf(required, REQUIRED_MAX)] : []))
  const known = parts.map(({ properties }) => fieldsOf(properties))
  const named = lists.length > 0 ? lists.flat() : known.flatMap(Object.keys)
  const names = new Set(named.filter((name) => typeof name === 'string'))
  const schemaOf = (name: string) => known.findLast((fields) => Object.hasOwn(fields, name))?.[name]
  return Object.fromEntries(
    [...names]
      .filter((name) => room.take(name.length + VALUE_ROOM))
      .map((name) => [name, exampleOf(fieldsOf(schemaOf(name) ?? { type: 'string' }), place)]),
  )
}
