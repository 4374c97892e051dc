import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject } from '../../lib/types.ts'
import { JsonProgress } from '../json/scan-json.ts'
import { tryParse } from '../json/strings.ts'
import { BROKEN_ARGUMENTS, NAMELESS_CALL } from '../tools/tool-names.ts'
import { partAt, type ReceivedItem } from './item-queue.ts'
import {
  ITEM_OF_PART,
  isCall,
  nameOfCall,
  type OutputItem,
  type OutputPart,
  type PartKind,
  partKindOf,
  wordsOfPart,
} from './item-events.ts'

export const DISAGREES = 'the end of an item does not match what came before it'

/** The text that a done event carries; '' for none. */
export const textOf = (whole: unknown): string =>
  typeof whole === 'string' ? whole : isObject(whole) ? JSON.stringify(whole) : ''

/**
 * Whether the text of a done event agrees with the deltas before it. Servers may omit it there, trim it, or reformat the JSON of
 * arguments. Reasoning is not compared, because nothing depends on its text.
 */
export function hasSameText({ kind, text }: OutputPart, whole: unknown): boolean {
  const words = textOf(whole)
  if (words === '' || words === text || ITEM_OF_PART[kind] === 'reasoning') return true
  if (words.trim() === text.trim()) return true
  if (kind !== 'arguments') return false
  const [told, meant] = [tryParse(text), tryParse(words)]
  return told !== undefined && isSameValue(told, meant)
}

/** What is nested too deeply for being compared is not known to agree. */
function isSameValue(told: unknown, meant: unknown): boolean {
  try {
    return isDeepStrictEqual(told, meant)
  } catch {
    return false
  }
}

/** The same for a finished item as it appears in the whole response. */
export function isSameItem(state: ReceivedItem, item: Fields): boolean {
  const agrees = (kind: PartKind, key: number | undefined, whole: unknown): boolean => {
    const part = partAt(state, kind, key)
    return part === undefined ? textOf(whole) === '' : hasSameText(part, whole)
  }
  const { kind } = state.item
  if (callsAnother(state.item, item)) return false
  if (kind === 'function_call') return agrees('arguments', undefined, item.arguments)
  if (kind === 'custom_tool_call') return agrees('input', undefined, item.input)
  if (kind !== 'message' || !Array.isArray(item.content)) return true
  if (!hasEveryPart(state, item.content)) return false
  return item.content.every((part, index) => {
    const partKind = isObject(part) ? partKindOf(part) : undefined
    return partKind === undefined || agrees(partKind, index, wordsOfPart(part, partKind))
  })
}

/** Whether all that was told of a message stands in its end, where that has anything at all. */
export const hasEveryPart = ({ item }: ReceivedItem, content: readonly unknown[]): boolean =>
  content.length === 0 ||
  item.parts.every(({ kind, key, text }) => {
    const listed = content[key]
    return text === '' || (isObject(listed) && partKindOf(listed) === kind)
  })

/** A call that was told under a name keeps it. */
export function callsAnother(told: OutputItem, { name }: Fields): boolean {
  if (!isCall(told.kind) || typeof name !== 'string' || name === '') return false
  const known = nameOfCall(told)
  return known !== '' && name !== known
}

interface Ended {
  readonly functionsAreCustom: boolean
  /** So may the last call be. */
  readonly isCut: boolean
}

/** What is wrong with the calls of an answer that is over. */
export function faultInCalls(items: readonly ReceivedItem[], { functionsAreCustom, isCut }: Ended): string | undefined {
  if (items.some(({ item }) => isCall(item.kind) && nameOfCall(item) === '')) return NAMELESS_CALL
  const mayBeCut = isCut ? items.at(-1) : undefined
  const isBroken = (state: ReceivedItem) =>
    state.item.kind === 'function_call' &&
    state.item.parts.some(({ text }) => !isArguments(text, { mayBeCut: state === mayBeCut }))
  return !functionsAreCustom && items.some(isBroken) ? BROKEN_ARGUMENTS : undefined
}

function isArguments(text: string, { mayBeCut }: { readonly mayBeCut: boolean }): boolean {
  const written = new JsonProgress()
  written.feed(text)
  return mayBeCut ? written.state !== 'broken' : written.state === 'whole'
}
