import { crc32 } from 'node:zlib'
import type { RequestBody } from '../model/turn.ts'
import type { LaneWire } from '../model/wire.ts'
import { skipString } from './json/bytes.ts'

/** Checksums of a prompt, in the order in which a provider reads it. */
export interface Fingerprint {
  readonly tools: number
  /** The same for the same tools in another order. */
  readonly toolSet: number
  readonly system: number
  /** What else precedes the conversation: the format of the answer, and how to think. */
  readonly settings: number
  readonly messages: Uint32Array
  /** The last message without its closing brackets, because a provider's last message may grow. */
  readonly last: { readonly bytes: number; readonly sum: number } | undefined
  /** The messages that the next turn most likely sends again, as one text: they need not be told apart again. */
  readonly beginning: Beginning
}

interface Beginning {
  readonly count: number
  /** From the opening bracket on. */
  readonly bytes: number
  readonly sum: number
}

/** A prompt whose bytes are at hand. */
export interface Prompt {
  readonly fingerprint: Fingerprint
  /** Its text. */
  messageAt(index: number): Buffer
  /** The member that has the messages. */
  readonly list: string
  /** What it has. */
  readonly messages: Buffer | undefined
}

interface Layout {
  readonly list: string
  readonly tools: readonly string[]
  readonly system: readonly string[]
  readonly settings: readonly string[]
  /** What the same role says next is added to its last message. */
  readonly grows: boolean
}

const RENDERED: Readonly<Record<LaneWire, Layout>> = {
  chat: { list: 'messages', tools: ['tools', 'functions'], system: [], settings: ['response_format'], grows: false },
  responses: { list: 'input', tools: ['tools'], system: ['instructions'], settings: ['text'], grows: false },
  anthropic: {
    list: 'messages',
    tools: ['tools'],
    system: ['system'],
    settings: ['thinking', 'output_config'],
    grows: true,
  },
  gemini: { list: 'contents', tools: ['tools'], system: ['systemInstruction'], settings: [], grows: true },
}

/** Everything of a client's request that may change what is written before its messages. */
const SENT: Omit<Layout, 'list'> = {
  tools: ['tools', 'functions'],
  system: ['instructions'],
  settings: [
    ...['model', 'response_format', 'text', 'tool_choice', 'function_call', 'reasoning', 'reasoning_effort'],
    ...['thinking', 'max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ],
  grows: false,
}

/** Longer prompts are not compared: half a million tokens are about as long, and reading them takes a few milliseconds. */
const PROMPT_BYTES_MAX = 2 * 1024 * 1024
/** Messages behind these are not compared. */
const MESSAGES_MAX = 1024

/** The prompt as a client sends it. `known` are fingerprints that it may go on from. */
export function readSentPrompt(
  { bytes, hasCacheMarks }: Pick<RequestBody, 'bytes' | 'hasCacheMarks'>,
  list: string,
  known: readonly Fingerprint[] = [],
): Prompt | undefined {
  if (bytes.length > PROMPT_BYTES_MAX) return undefined
  return readPrompt(hasCacheMarks === false ? bytes : withoutMarks(bytes), { ...SENT, list }, known)
}

/** The prompt as a provider gets it, whose messages often are the client's: these are not read again. */
export function readRenderedPrompt(
  bytes: Buffer,
  wire: LaneWire,
  known: readonly Fingerprint[] = [],
  asked?: Prompt,
): Prompt | undefined {
  if (bytes.length > PROMPT_BYTES_MAX) return undefined
  const layout = RENDERED[wire]
  const mayBeSame = asked?.list === layout.list && !layout.grows
  return (mayBeSame && readSamePrompt(bytes, layout, asked)) || readPrompt(withoutMarks(bytes), layout, known)
}

/** Undefined where the messages are others than the client's, or there are marks elsewhere. */
function readSamePrompt(bytes: Buffer, layout: Layout, { messages, messageAt, fingerprint }: Prompt) {
  const members = messages && readMembers(bytes, layout, (start) => endOfSame(bytes, start, messages))
  if (members?.listEnd === undefined) return undefined
  const { values, listStart, listEnd } = members
  if (bytes.subarray(0, listStart).includes(MARK) || bytes.subarray(listEnd).includes(MARK)) return undefined
  const { messages: sums, beginning } = fingerprint
  return promptOf(values, layout, { messages, messageAt, sums, beginning, last: undefined })
}

const endOfSame = (bytes: Buffer, start: number, messages: Buffer): number | undefined =>
  bytes.subarray(start, start + messages.length).equals(messages) ? start + messages.length : undefined

/** Undefined where there is none. */
function readPrompt(bytes: Buffer, layout: Layout, known: readonly Fingerprint[]): Prompt | undefined {
  let list: List | undefined
  const members = readMembers(bytes, layout, (start) => {
    list = readList(bytes, start, known)
    return list?.end
  })
  if (members === undefined) return undefined
  const messages = members.values.get(layout.list)
  const last = layout.grows ? list?.elements.at(-1) : undefined
  const open = last?.subarray(0, openLength(last))
  let whole: readonly Buffer[] | undefined
  return promptOf(members.values, layout, {
    messages,
    messageAt(index) {
      whole ??= (messages && readList(messages, 0, [])?.elements) ?? []
      return whole[index] ?? NOTHING
    },
    sums: list === undefined ? new Uint32Array() : sumsOf(list),
    beginning: list === undefined || messages === undefined ? NO_BEGINNING : beginningOf(messages, list, layout),
    last: open && { bytes: open.length, sum: crc32(open) },
  })
}

interface ReadMessages extends Pick<Prompt, 'messages' | 'messageAt'>, Pick<Fingerprint, 'beginning' | 'last'> {
  readonly sums: Uint32Array
}

function promptOf(
  values: ReadonlyMap<string, Buffer>,
  layout: Layout,
  { messages, messageAt, sums, beginning, last }: ReadMessages,
): Prompt {
  const valuesOf = (names: readonly string[]) => names.flatMap((name) => values.get(name) ?? [])
  const sumOf = (parts: readonly Buffer[]) => parts.reduce((sum, part) => crc32(part, sum), 0)
  const tools = valuesOf(layout.tools).flatMap((list) => readList(list, 0, [])?.elements ?? [])
  return {
    list: layout.list,
    messages,
    messageAt,
    fingerprint: {
      tools: sumOf(tools),
      toolSet: tools.reduce((sum, tool) => (sum + crc32(tool)) >>> 0, 0),
      system: sumOf(valuesOf(layout.system)),
      settings: sumOf(valuesOf(layout.settings)),
      messages: sums,
      last,
      beginning,
    },
  }
}

const NOTHING = Buffer.alloc(0)
const NO_BEGINNING: Beginning = { count: 0, bytes: 0, sum: 0 }

interface List {
  /** What it begins with, and the elements behind that. */
  readonly known: Fingerprint | undefined
  readonly elements: readonly Buffer[]
  /** Behind each of the elements, from the opening bracket on. */
  readonly ends: readonly number[]
  /** Behind the closing bracket, in the text that has the list. */
  readonly end: number
}

function sumsOf({ known, elements }: List): Uint32Array {
  const count = known?.beginning.count ?? 0
  const sums = new Uint32Array(count + elements.length)
  if (known !== undefined) sums.set(known.messages.subarray(0, count))
  for (const [at, element] of elements.entries()) sums[count + at] = crc32(element)
  return sums
}

/** Without a message that may still grow. */
function beginningOf(list: Buffer, { known, elements, ends }: List, { grows }: Layout): Beginning {
  const before = known?.beginning ?? NO_BEGINNING
  const added = elements.length - (grows ? 1 : 0)
  const bytes = ends[added - 1]
  if (bytes === undefined) return before
  return { count: before.count + added, bytes, sum: crc32(list.subarray(before.bytes, bytes), before.sum) }
}

const [QUOTE, COMMA, COLON, OPEN_BRACKET, OPEN_BRACE] = [0x22, 0x2c, 0x3a, 0x5b, 0x7b]
const [CLOSE_BRACKET, CLOSE_BRACE, SPACE] = [0x5d, 0x7d, 0x20]

interface Members {
  readonly values: ReadonlyMap<string, Buffer>
  readonly listStart: number
  /** Undefined where the list was not taken. */
  readonly listEnd: number | undefined
}

/**
 * The members of a valid JSON object; of two with one name, the first. `endOfList` tells where the messages end that begin at an
 * offset. Undefined where it is no object.
 */
function readMembers(
  bytes: Buffer,
  layout: Layout,
  endOfList: (start: number) => number | undefined,
): Members | undefined {
  const values = new Map<string, Buffer>()
  let listStart = 0
  let listEnd: number | undefined
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== OPEN_BRACE) return undefined
  for (at = skipSpace(bytes, at + 1); bytes[at] === QUOTE; at = skipSpace(bytes, at)) {
    const nameEnd = skipString(bytes, at)
    const name = bytes.toString('latin1', at + 1, nameEnd - 1)
    const colon = skipSpace(bytes, nameEnd)
    const start = skipSpace(bytes, colon + 1)
    if (nameEnd < 0 || bytes[colon] !== COLON) return undefined
    if (name === layout.list && listEnd === undefined) {
      listStart = start
      listEnd = endOfList(start)
    }
    const end = listStart === start && listEnd !== undefined ? listEnd : skipValue(bytes, start)
    if (end < 0) return undefined
    if (!values.has(name)) values.set(name, bytes.subarray(start, end))
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at++
  }
  return { values, listStart, listEnd }
}

/** A list at `start`. Undefined where there is none: some inputs are one string. */
function readList(bytes: Buffer, start: number, known: readonly Fingerprint[]): List | undefined {
  if (bytes[start] !== OPEN_BRACKET) return undefined
  const same = known.find(({ beginning }) => beginsWith(bytes, start, beginning))
  const elements: Buffer[] = []
  const ends: number[] = []
  const room = MESSAGES_MAX - (same?.beginning.count ?? 0)
  let at = start + (same?.beginning.bytes ?? 1)
  for (;;) {
    at = skipSpace(bytes, at)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
    if (bytes[at] === CLOSE_BRACKET) return { known: same, elements, ends, end: at + 1 }
    const end = skipValue(bytes, at)
    if (end <= at) return undefined
    if (elements.length < room) {
      elements.push(bytes.subarray(at, end))
      ends.push(end - start)
    }
    at = end
  }
}

const beginsWith = (bytes: Buffer, start: number, { count, bytes: length, sum }: Beginning): boolean =>
  count > 0 && start + length < bytes.length && crc32(bytes.subarray(start, start + length)) === sum

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at]! <= SPACE) at++
  return at
}

/** How a byte outside of strings changes the depth. */
const depthSteps = new Int8Array(256)
for (const byte of [OPEN_BRACKET, OPEN_BRACE]) depthSteps[byte] = 1
for (const byte of [CLOSE_BRACKET, CLOSE_BRACE]) depthSteps[byte] = -1

/** The offset behind a value; -1 where it does not end. */
function skipValue(bytes: Buffer, start: number): number {
  let depth = 0
  for (let at = start; at < bytes.length; ) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      at = skipString(bytes, at)
      if (at < 0 || depth === 0) return at
      continue
    }
    const step = depthSteps[byte]!
    // A number or a word ends where its surroundings go on.
    if (depth === 0 && (byte === COMMA || step < 0 || byte <= SPACE)) return at
    depth += step
    at++
    if (step < 0 && depth === 0) return at
  }
  return -1
}

const CLOSING = new Set([CLOSE_BRACKET, CLOSE_BRACE])

function openLength(message: Buffer): number {
  let end = message.length
  // `…}]}`: the message, its parts, and not the last of them.
  for (let brackets = 0; brackets < 2 && CLOSING.has(message[end - 1] ?? 0); brackets++) end--
  return end
}

/** Marks tell how far a provider caches a prompt, and are no part of it. Inside a string, their quotes would be escaped. */
const MARK = Buffer.from('"cache_control"')

/** Providers take four. */
const MARKS_MAX = 32

function withoutMarks(bytes: Buffer): Buffer {
  let name = bytes.indexOf(MARK)
  if (name < 0) return bytes
  const pieces: Buffer[] = []
  let from = 0
  for (let marks = 0; name >= 0 && marks < MARKS_MAX; marks++) {
    const mark = markAt(bytes, name)
    if (mark !== undefined) {
      pieces.push(bytes.subarray(from, mark.start))
      from = mark.end
    }
    // A mark inside the value of another one went with it.
    name = bytes.indexOf(MARK, mark?.end ?? name + MARK.length)
  }
  return Buffer.concat([...pieces, bytes.subarray(from)])
}

/** The member with the comma before it, however the client spaces its JSON. */
function markAt(bytes: Buffer, name: number): { readonly start: number; readonly end: number } | undefined {
  let start = name - 1
  while (start > 0 && bytes[start]! <= SPACE) start--
  const colon = skipSpace(bytes, name + MARK.length)
  if (bytes[start] !== COMMA || bytes[colon] !== COLON) return undefined
  const end = skipValue(bytes, skipSpace(bytes, colon + 1))
  return end < 0 ? undefined : { start, end }
}

export type PromptPlace = 'tools' | 'system' | 'settings' | number

/** Where a prompt first differs from the beginning that it had before; undefined: it is the same, longer or shorter. */
export function firstDifference(before: Fingerprint, { fingerprint: now, messageAt }: Prompt): PromptPlace | undefined {
  if (before.tools !== now.tools) return 'tools'
  if (before.system !== now.system) return 'system'
  const end = Math.min(before.messages.length, now.messages.length)
  for (let at = 0; at < end; at++) {
    if (before.messages[at] === now.messages[at]) continue
    const { last } = before
    const hasGrown =
      last !== undefined &&
      at === before.messages.length - 1 &&
      crc32(messageAt(at).subarray(0, last.bytes)) === last.sum
    if (!hasGrown) return at
  }
  return before.settings === now.settings ? undefined : 'settings'
}
