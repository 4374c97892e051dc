import { crc32 } from 'node:zlib'
import type { LaneWire } from '../model/wire.ts'
import { elementsWithin, memberBytes } from './json/bytes.ts'
import { scanJson } from './json/scan-json.ts'

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
}

/** A prompt whose bytes are at hand. */
export interface Prompt {
  readonly fingerprint: Fingerprint
  /** Slices of the request. */
  readonly messages: readonly Buffer[]
  /** The member that has the messages. */
  readonly list: string
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

/** Longer prompts are not compared: a million tokens are about as long. */
export const PROMPT_BYTES_MAX = 4 * 1024 * 1024
/** Messages behind these are not compared. */
const MESSAGES_MAX = 1024

type Body = Parameters<typeof memberBytes>[0]

/** The prompt as a client sends it. */
export const readSentPrompt = (body: Body, list: string): Prompt => readPrompt(body, { ...SENT, list })

/** The prompt as a provider gets it; undefined where there is none, or too long a one. */
export function readRenderedPrompt(bytes: Buffer, wire: LaneWire): Prompt | undefined {
  if (bytes.length > PROMPT_BYTES_MAX) return undefined
  const scan = scanJson(bytes, { depthMax: Number.POSITIVE_INFINITY, valuesMax: Number.POSITIVE_INFINITY })
  return scan.kind === 'scanned' ? readPrompt({ bytes, members: scan.members }, RENDERED[wire]) : undefined
}

function readPrompt(body: Body, layout: Layout): Prompt {
  const valuesOf = (names: readonly string[]) => names.flatMap((name) => memberBytes(body, name) ?? [])
  const sums = (values: readonly Buffer[]) => values.reduce((sum, value) => crc32(withoutMarks(value), sum), 0)
  let [tools, toolSet] = [0, 0]
  for (const list of valuesOf(layout.tools))
    for (const tool of elementsOf(withoutMarks(list))) {
      tools = crc32(tool, tools)
      toolSet = (toolSet + crc32(tool)) >>> 0
    }
  const list = memberBytes(body, layout.list)
  const messages = list === undefined ? [] : elementsOf(withoutMarks(list))
  const last = layout.grows ? messages.at(-1) : undefined
  const open = last?.subarray(0, openLength(last))
  return {
    messages,
    list: layout.list,
    fingerprint: {
      tools,
      toolSet,
      system: sums(valuesOf(layout.system)),
      settings: sums(valuesOf(layout.settings)),
      messages: Uint32Array.from(messages, (message) => crc32(message)),
      last: open && { bytes: open.length, sum: crc32(open) },
    },
  }
}

const BRACKET = 0x5b

function elementsOf(list: Buffer): Buffer[] {
  const elements: Buffer[] = []
  // Some inputs are one string.
  if (list[0] !== BRACKET) return elements
  for (const element of elementsWithin(list, list.length)) {
    elements.push(trimmed(element))
    if (elements.length === MESSAGES_MAX) break
  }
  return elements
}

const SPACE = 0x20

function trimmed(bytes: Buffer): Buffer {
  let [start, end] = [0, bytes.length]
  while (start < end && bytes[start]! <= SPACE) start++
  while (end > start && bytes[end - 1]! <= SPACE) end--
  return bytes.subarray(start, end)
}

const CLOSING = new Set(Buffer.from(']}'))

function openLength(message: Buffer): number {
  let end = message.length
  // `…}]}`: the message, its parts, and not the last of them.
  for (let brackets = 0; brackets < 2 && CLOSING.has(message[end - 1] ?? 0); brackets++) end--
  return end
}

/** Marks tell how far a provider caches a prompt, and are no part of it. Inside a string, their quotes would be escaped. */
const MARK = Buffer.from(',"cache_control":{"type":"ephemeral"}')

function withoutMarks(bytes: Buffer): Buffer {
  let at = bytes.indexOf(MARK)
  if (at < 0) return bytes
  const pieces: Buffer[] = []
  let from = 0
  for (; at >= 0; at = bytes.indexOf(MARK, from)) {
    pieces.push(bytes.subarray(from, at))
    from = at + MARK.length
  }
  return Buffer.concat([...pieces, bytes.subarray(from)])
}

export type PromptPlace = 'tools' | 'system' | 'settings' | number

/** Where a prompt first differs from the beginning that it had before; undefined: it is the same, longer or shorter. */
export function firstDifference(before: Fingerprint, { fingerprint: now, messages }: Prompt): PromptPlace | undefined {
  if (before.tools !== now.tools) return 'tools'
  if (before.system !== now.system) return 'system'
  const end = Math.min(before.messages.length, now.messages.length)
  for (let at = 0; at < end; at++) {
    if (before.messages[at] === now.messages[at]) continue
    const { last } = before
    const hasGrown =
      last !== undefined &&
      at === before.messages.length - 1 &&
      crc32(messages[at]!.subarray(0, last.bytes)) === last.sum
    if (!hasGrown) return at
  }
  return before.settings === now.settings ? undefined : 'settings'
}
