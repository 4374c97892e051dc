import type { LaneWire } from '../model/event.ts'
import { scanJson } from '../protocols/json/scan-json.ts'

/** What of a request a provider reads as its prompt. */
export interface Rendered {
  /** Everything but the conversation and how words are chosen: tools, instructions, how to answer and to think. */
  readonly settings: Readonly<Record<string, string>>
  /** The messages, contents or items, up to where the next turn is added. */
  readonly conversation: string
}

const LISTS: Readonly<Record<LaneWire, { readonly name: string; readonly end: RegExp }>> = {
  chat: { name: 'messages', end: /\s*\]$/ },
  responses: { name: 'input', end: /\s*\]$/ },
  // What the same role says next is added to its last message.
  anthropic: { name: 'messages', end: /\]\}\]$/ },
  gemini: { name: 'contents', end: /\]\}\]$/ },
}

/** Marks say how far a provider keeps a prompt, and are no part of what it keeps. */
const MARK = /,"cache_control":\{"type":"ephemeral"\}/g

export function renderedOf(wire: LaneWire, body: Buffer): Rendered {
  const scan = scanJson(body, { depthMax: 1000, valuesMax: 1_000_000 })
  if (scan.kind !== 'scanned') throw new Error(`What was sent is ${scan.kind}`)
  const { name: list, end } = LISTS[wire]
  const texts = scan.members.map(({ name, valueStart, valueEnd }) => {
    const text = body.toString('utf8', valueStart, valueEnd)
    return [name, wire === 'anthropic' ? text.replaceAll(MARK, '') : text] as const
  })
  const { [list]: conversation = '', temperature: _heat, top_p: _share, ...settings } = Object.fromEntries(texts)
  return { settings, conversation: conversation.replace(end, '') }
}

/** What breaks the prefix; undefined: the later one begins as the earlier one. */
export function brokenPrefix(before: Rendered, now: Rendered, mayChange: readonly string[] = []): string | undefined {
  for (const name of new Set([...Object.keys(before.settings), ...Object.keys(now.settings)]))
    if (before.settings[name] !== now.settings[name] && !mayChange.includes(name))
      return `${name} was ${before.settings[name]} and is ${now.settings[name]}`
  const { conversation } = before
  if (now.conversation.startsWith(conversation)) return undefined
  let at = 0
  while (conversation[at] === now.conversation[at]) at++
  const around = (text: string) => text.slice(Math.max(0, at - 120), at + 160)
  return `At ${at} there was\n${around(conversation)}\nand is\n${around(now.conversation)}`
}
