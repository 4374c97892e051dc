import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import { type CacheMark, type ContentPart, type FilePart, isText } from '../../model/conversation.ts'
import type { Protocol } from '../../model/turn.ts'
import { clientName } from '../client-names.ts'
import { type InlineData, inlineData } from '../read-data-url.ts'

/** A piece of a message. */
export type Block = Fields & { readonly type: string }

/** Who is told what could not go. */
interface Losses {
  readonly client: Protocol
  readonly leftOut: Set<string>
}

/** A text of nothing but spaces is refused. */
export const textBlocks = (text: string): Block[] => (text.trim() === '' ? [] : [{ type: 'text', text }])

/** The parts of a user's message, or of a tool's result. What cannot go leaves a word behind, and is named. */
export const writeParts = (parts: readonly ContentPart[], losses: Losses): Block[] =>
  parts.flatMap((part) => withMark(writePart(part, losses), part.cacheMark))

/** Where only text may stand. */
export function writeTexts(parts: readonly ContentPart[], { leftOut, client }: Losses): Block[] {
  return parts.flatMap((part) => {
    if (isText(part)) return withMark(textBlocks(part.text), part.cacheMark)
    leftOut.add(clientName(part.type, client))
    return []
  })
}

/** Puts the mark on the last block. */
const withMark = (blocks: Block[], mark: CacheMark | undefined): Block[] =>
  blocks.map((block, at) => (at === blocks.length - 1 ? { ...block, ...cacheControl(mark) } : block))

/** No field where there is no mark. */
export const cacheControl = (mark: CacheMark | undefined): Fields =>
  mark === undefined ? {} : { cache_control: { type: 'ephemeral' } }

function writePart(part: ContentPart, losses: Losses): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textBlocks(part.text)
    case 'image': {
      const source = imageSource(part.url)
      return source ? [{ type: 'image', source }] : [missing('image', losses)]
    }
    case 'file':
      return [writeFile(part, losses)]
    case 'audio':
      return [missing('audio', losses)]
    default:
      return assertNever(part)
  }
}

function writeFile({ data, url, id, name }: FilePart, losses: Losses): Block {
  const title = name === undefined || name === '' ? {} : { title: name }
  const inside = data === undefined ? undefined : inlineData(data)
  if (inside !== undefined && IMAGES.has(inside.mediaType)) return { type: 'image', source: base64Source(inside) }
  const source = inside ? documentSource(inside) : webAddress(url)
  if (source !== undefined) return { type: 'document', source, ...title }
  return missing(id !== undefined && data === undefined && url === undefined ? 'fileId' : 'file', losses)
}

const WHAT = { image: 'an image', file: 'a file', fileId: 'a file', audio: 'a recording' } as const

function missing(what: keyof typeof WHAT, { leftOut, client }: Losses): Block {
  leftOut.add(clientName(what, client))
  return { type: 'text', text: `[Here stood ${WHAT[what]} that cannot be shown.]` }
}

const IMAGES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
const PDF = 'application/pdf'

function imageSource(url: string): Fields | undefined {
  const inside = inlineData(url)
  if (inside === undefined) return webAddress(url)
  return IMAGES.has(inside.mediaType) ? base64Source(inside) : undefined
}

const webAddress = (url: string | undefined): Fields | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) ? { type: 'url', url } : undefined

const base64Source = ({ mediaType, base64 }: InlineData): Fields => ({
  type: 'base64',
  media_type: mediaType,
  data: base64,
})

function documentSource(inside: InlineData): Fields | undefined {
  if (inside.mediaType === PDF) return base64Source(inside)
  if (!inside.mediaType.startsWith('text/')) return undefined
  const text = Buffer.from(inside.base64, 'base64').toString('utf8')
  return text.trim() === '' ? undefined : { type: 'text', media_type: 'text/plain', data: text }
}
