/** Data that stands in its own address, as clients send images and files. */
interface DataUrl {
  /** In small letters, without what may stand behind it. */
  readonly mediaType: string
  /** Where the base64 begins. */
  readonly dataStart: number
}

const HEAD = /^data:([a-z]+\/[a-z0-9][a-z0-9.+-]*)(?:;[a-z0-9-]+=[^;,]*)*;base64,/i
const HEAD_LENGTH_MAX = 512

/** Undefined: it is none, or none in base64. */
export function readDataUrl(url: string): DataUrl | undefined {
  const [head, mediaType] = HEAD.exec(url.slice(0, HEAD_LENGTH_MAX)) ?? []
  if (head === undefined || mediaType === undefined) return undefined
  return { mediaType: mediaType.toLowerCase(), dataStart: head.length }
}

export interface InlineData {
  readonly mediaType: string
  readonly base64: string
}

/** The data itself, for lanes that take it beside its type. Undefined: it is none; what is none in base64 was refused at the door. */
export function inlineData(url: string): InlineData | undefined {
  const head = readDataUrl(url)
  if (head === undefined) return undefined
  const { mediaType, dataStart } = head
  // A common slip, and no type that anybody knows.
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, base64: url.slice(dataStart) }
}

/** Four characters are three bytes. */
const PIECE_CHARACTERS = 65_536
const scratch = Buffer.allocUnsafe((PIECE_CHARACTERS / 4) * 3)

/**
 * Whether the rest of a text is base64, with its padding or without, and not nothing. Decoding stops at what is none, so
 * the number of bytes tells; it is several times as fast as looking at each character.
 */
export function isBase64(text: string, start: number): boolean {
  const end = withoutPadding(text)
  const length = end - start
  if (length < 2 || length % 4 === 1 || (end < text.length && (text.length - start) % 4 !== 0)) return false
  // The decoder takes these of another alphabet too; providers do not.
  if (text.includes('-', start) || text.includes('_', start)) return false
  let bytes = 0
  for (let at = start; at < end; at += PIECE_CHARACTERS) {
    bytes += scratch.write(text.slice(at, Math.min(at + PIECE_CHARACTERS, end)), 'base64')
  }
  return bytes === Math.floor((length * 3) / 4)
}

function withoutPadding(text: string): number {
  if (text.endsWith('==')) return text.length - 2
  return text.endsWith('=') ? text.length - 1 : text.length
}
