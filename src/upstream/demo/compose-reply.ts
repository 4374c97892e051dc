import type { DemoHeard, DemoRequest, DemoTool } from './demo-request.ts'
import { exampleJson } from './example-json.ts'

/** What the demo says, in the pieces it says it in: each piece counts as one token. Every choice says the same. */
export interface DemoReply {
  readonly choices: number
  readonly reasoning: readonly string[]
  /** Begins anew with each call; a long answer is never there as a whole. */
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

/** Harder thinking is more of it: enough to see the effort arrive in the usage. */
const THOUGHT_PIECES: Readonly<Record<string, number>> = {
  minimal: 4,
  low: 8,
  medium: 16,
  high: 32,
  xhigh: 48,
  max: 64,
}

/** The same question gives the same answer, so that tests and first steps are repeatable. */
export function composeReply(request: DemoRequest): DemoReply {
  const { choices, promptTokens, outputCap } = request
  const reasoning = thoughts(request).slice(0, outputCap)
  const said = saidIn(request, outputCap - reasoning.length)
  return {
    choices,
    reasoning,
    promptTokens,
    words: said.words,
    call: said.call,
    finish: said.finish,
    completionTokens: (reasoning.length + said.tokens) * choices,
    reasoningTokens: reasoning.length * choices,
  }
}

function thoughts(request: DemoRequest): string[] {
  const pieces = THOUGHT_PIECES[request.effort ?? ''] ?? 0
  return Array.from({ length: pieces }, (_, index) => (index === 0 ? 'Thinking' : index % 8 === 0 ? ' further' : '.'))
}

type Said = Pick<DemoReply, 'words' | 'call' | 'finish'> & { readonly tokens: number }

const NO_WORDS = () => []

/** Guesses what a question is about: quoted text, a path, or a capitalised name that is not its first word. */
function subjectOf(question: string): string | undefined {
  const quoted = /["'`“]([^"'`“”\n]{1,80})["'`”]/.exec(question)?.[1]
  const path = /(?:^|\s)([\w.-]*[./][\w./-]*\w)/.exec(question)?.[1]
  const name = /\w[^.!?\n]*?\s(\p{Lu}[\p{L}-]+(?:\s\p{Lu}[\p{L}-]+)*)/u.exec(question)?.[1]
  return quoted ?? path ?? name
}

function saidIn(request: DemoRequest, room: number): Said {
  if (room === 0) return { words: NO_WORDS, call: undefined, finish: 'length', tokens: 0 }
  return request.tool ? callOf(request.tool, request.heard, room) : wordsOf(request, room)
}

function callOf(tool: DemoTool, { end }: DemoHeard, room: number): Said {
  const written = exampleJson(tool.parameters, subjectOf(end))
  const tokens = Math.ceil(written.length / CHARACTERS_PER_TOKEN) + 1
  if (tokens <= room) {
    return { words: NO_WORDS, call: { name: tool.name, arguments: written }, finish: 'tool_calls', tokens }
  }
  const cut = written.slice(0, (room - 1) * CHARACTERS_PER_TOKEN)
  return { words: NO_WORDS, call: { name: tool.name, arguments: cut }, finish: 'length', tokens: room }
}

function wordsOf({ heard, stop, schema }: DemoRequest, room: number): Said {
  const answer = schema ? wordsIn(exampleJson(schema)) : answerTo(heard)
  const end = stop.length === 0 ? undefined : placeOfStop(answer, stop)
  const words = () => firstOf(answer(), room, end)
  // One word more than there is room for shows that the answer is cut.
  const wanted = countOf(firstOf(answer(), room + 1, end))
  return { words, call: undefined, finish: wanted > room ? 'length' : 'stop', tokens: Math.min(wanted, room) }
}

/** A word at a time, because a long answer said at once would stop the server's thread. */
type Answer = () => Iterable<string>

function answerTo({ from, start, end }: DemoHeard): Answer {
  if (from === 'tool') return wordsIn(`The tool said: ${quoted(start)}. This is Millrace's built-in demo model.`)
  const count = /\bcount to (\d{1,6})\b/i.exec(end)?.[1]
  if (count) return () => numbersTo(Math.min(Number(count), COUNT_MAX))
  const heard = start.trim() === '' ? 'You said nothing.' : `You said: ${quoted(start)}.`
  return wordsIn(
    `Hello from Millrace's built-in demo model. ${heard} No provider was asked; connect one in millrace.yaml to talk to a real model.`,
  )
}

const wordsIn = (text: string): Answer => {
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

/** At most this many words, and no character beyond the end: a stop word may leave white space behind the last word. */
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

function placeOfStop(answer: Answer, stops: readonly string[]): number | undefined {
  const text = [...answer()].join('')
  const places = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1)
  return places.length === 0 ? undefined : Math.min(...places)
}

function countOf(words: Iterable<string>): number {
  let count = 0
  for (const _word of words) count++
  return count
}
