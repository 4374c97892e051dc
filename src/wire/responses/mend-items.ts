import type { Fields } from '../../lib/is-object.ts'
import { isAbsent } from '../fields/check-value.ts'
import { isOutputType, typeOfItem } from './item-types.ts'

type Item = Readonly<Fields>

/**
 * Checked items as every server takes them, each itself where nothing is wrong with it. Clients give a speaker the other's
 * kind of text part, or that of Chat, and servers refuse it; an assistant that has said nothing is no message at all.
 */
export function mendItems(items: readonly Item[]): Item[] {
  return items.flatMap((item, at) => {
    // Sealed reasoning must be followed by what it led to, even where that is nothing.
    if (saysNothing(item) && items[at - 1]?.type !== 'reasoning') return []
    const [member, type] = partsOf(item)
    return member === undefined ? [item] : [withParts(item, member, type)]
  })
}

function saysNothing(item: Item): boolean {
  if (typeOfItem(item) !== 'message' || item.role !== 'assistant') return false
  const { content } = item
  return isAbsent(content) || content === '' || (Array.isArray(content) && content.every(({ text }) => text === ''))
}

type TextPart = 'input_text' | 'output_text'

/** Where an item has parts, and of which kind its texts have to be. */
function partsOf(item: Item): readonly [member: string | undefined, type: TextPart] {
  const type = typeOfItem(item)
  if (type === 'message') return ['content', item.role === 'assistant' ? 'output_text' : 'input_text']
  return [isOutputType(type) ? 'output' : undefined, 'input_text']
}

function withParts(item: Item, member: string, type: TextPart): Item {
  const parts = item[member]
  if (!Array.isArray(parts) || !parts.some((part) => isMistyped(part, type))) return item
  return { ...item, [member]: parts.map((part) => (isMistyped(part, type) ? retyped(part, type) : part)) }
}

const isMistyped = (part: Fields, type: TextPart): boolean => part.type !== type && typeof part.text === 'string'

/** Only what an assistant has said is annotated. */
const retyped = (part: Fields, type: TextPart): Fields =>
  type === 'output_text'
    ? { ...part, type, annotations: [] }
    : { ...part, type, annotations: undefined, logprobs: undefined }
