import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import type { CallItem, ContentPart } from '../../model/conversation.ts'
import { inlineData } from '../read-data-url.ts'
import { argumentsObject } from '../tools/past-calls.ts'
import type { ToolNames } from '../tools/tool-names.ts'

/** A part of a content; undefined: it has no place there. Files are sent along or named by an address, never by an id. */
export function writePart(part: ContentPart): Fields | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { text: part.text }
    case 'image':
      return writeData(part.url) ?? writeAddress(part.url, mimeTypeOf(part.url) ?? 'image/jpeg')
    case 'audio':
      return inline(`audio/${FORMAT.test(part.format) ? part.format : 'wav'}`, part.data)
    case 'file': {
      const { data, url = '', name = '' } = part
      if (data !== undefined) return writeData(data)
      return writeAddress(url, mimeTypeOf(name) ?? mimeTypeOf(url) ?? 'application/pdf')
    }
    default:
      return assertNever(part)
  }
}

const FORMAT = /^[a-z0-9][a-z0-9.+-]{0,31}$/

const inline = (mimeType: string, data: string): Fields => ({ inlineData: { mimeType, data } })

function writeData(url: string): Fields | undefined {
  const data = inlineData(url)
  return data && inline(data.mediaType, data.base64)
}

/** Google fetches what it is given the address of, and wants to be told what it will find. */
const writeAddress = (url: string, mimeType: string): Fields | undefined =>
  FETCHED.test(url) ? { fileData: { mimeType, fileUri: url } } : undefined

const FETCHED = /^https?:\/\//i

/** What a name or an address says of what is behind it. */
function mimeTypeOf(name: string): string | undefined {
  const [path = ''] = name.split(/[?#]/)
  return MIME_TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
}

const MIME_TYPES: ReadonlyMap<string, string> = new Map([
  ...['png', 'jpeg', 'webp', 'heic', 'heif', 'gif'].map((kind) => [kind, `image/${kind}`] as const),
  ['jpg', 'image/jpeg'],
  ['pdf', 'application/pdf'],
  ['json', 'application/json'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ...['html', 'css', 'csv', 'xml'].map((kind) => [kind, `text/${kind}`] as const),
  ['mp3', 'audio/mp3'],
  ...['wav', 'aac', 'flac', 'ogg'].map((kind) => [kind, `audio/${kind}`] as const),
  ...['mp4', 'webm', 'mpeg'].map((kind) => [kind, `video/${kind}`] as const),
])

/** How a call and its result are told of each other. */
interface CallWords {
  readonly names: ToolNames
  /** As the server takes it; undefined where their order pairs them. */
  readonly id: string | undefined
}

export const writeCall = (call: CallItem, signature: string | undefined, words: CallWords): Fields => ({
  functionCall: { ...nameOf(call, words), args: argumentsObject(call) },
  ...(signature === undefined ? {} : { thoughtSignature: signature }),
})

/** A result is an object here; that it was a text shall be seen. */
export const writeResponse = (call: CallItem, result: string, words: CallWords): Fields => ({
  functionResponse: { ...nameOf(call, words), response: { result } },
})

const nameOf = (call: CallItem, { names, id }: CallWords): Fields => ({
  ...(id === undefined ? {} : { id }),
  name: names.upstreamName(call),
})
