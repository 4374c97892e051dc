import { type Fields, isObject } from '../../lib/types.ts'
import type { CacheMark, ContentPart, Conversation } from '../../model/conversation.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { InputForm, OtherInput } from '../../model/turn.ts'
import { shown } from './check-value.ts'

/** A part that is not text: its name in a model's `inputs`, and the reader of its source. */
export interface OtherPart {
  readonly kind: OtherInput['kind']
  readonly read: (param: string, part: Fields) => PartSource | Problem
}

/** Adds the part to `others`, which the model's inputs are checked against. `others` is undefined where only text is allowed. */
export function checkOtherPart(
  { kind, read }: OtherPart,
  param: string,
  part: Fields,
  others: OtherInput[] | undefined,
): Problem | undefined {
  if (others === undefined) {
    const message = `\`${param}\` is not text. Images and files are only accepted in user messages and tool results.`
    return problem('unsupported_content', message, { param })
  }
  const source = read(param, part)
  if ('code' in source) return source
  others.push({ kind, param, ...source })
  return undefined
}

export type PartSource = Pick<OtherInput, 'form' | 'dataBytes'>

/** An image by its address, or its data as a data URL. Millrace fetches nothing; the provider follows an address. */
export function checkImageUrl(param: string, url: string): PartSource | Problem {
  if (isWebAddress(url)) return AN_ADDRESS
  if (/^data:/i.test(url)) return checkData(param, url, IMAGE_DATA)
  const message = `\`${param}\` is neither an http or https address (of at most ${ADDRESS_LENGTH_MAX} characters) nor a data URL such as data:image/png;base64,… with the image in it.`
  return problem('invalid_value', message, { param })
}

export const checkFileData = (param: string, data: string): PartSource | Problem => checkData(param, data, FILE_DATA)

export function checkFileUrl(param: string, url: string): PartSource | Problem {
  if (isWebAddress(url)) return AN_ADDRESS
  const message = `\`${param}\` is not an http or https address of at most ${ADDRESS_LENGTH_MAX} characters. Send the file itself as \`file_data\`.`
  return problem('invalid_value', message, { param })
}

/** A file id: this gateway stores no files, and providers do not know each other's files. */
export function noFilesHere(param: string, instead: string): Problem {
  const message = `\`${param}\` names a file, and this gateway keeps none. Send it as ${instead}.`
  return problem('unsupported_content', message, { param })
}

export const notTaken = (param: string, type: string): Problem =>
  problem('unsupported_content', `\`${param}\` is a part of type ${shown(type)}, which this gateway does not accept.`, {
    param,
  })

const AN_ADDRESS: PartSource = { form: 'address', dataBytes: 0 }

/** Longer than any signed address. */
const ADDRESS_LENGTH_MAX = 16_384

const isWebAddress = (url: string): boolean =>
  url.length <= ADDRESS_LENGTH_MAX && /^https?:\/\//i.test(url) && URL.canParse(url)

interface DataRule {
  readonly takes: (mediaType: string) => boolean
  readonly example: string
  readonly formOf: (start: Buffer) => InputForm
}

const IMAGE_DATA: DataRule = {
  takes: (mediaType) => mediaType.startsWith('image/'),
  example: 'data:image/png;base64,…',
  formOf: (start) => (PICTURES.some((begins) => begins(start.toString('latin1'))) ? 'picture' : 'text'),
}

const FILE_DATA: DataRule = {
  takes: (mediaType) => mediaType === 'application/pdf' || mediaType.startsWith('text/'),
  example: 'data:application/pdf;base64,… or data:text/plain;base64,…',
  formOf: (start) => (start.toString('latin1').startsWith('%PDF-') ? 'document' : 'text'),
}

function checkData(param: string, url: string, { takes, example, formOf }: DataRule): PartSource | Problem {
  const data = readDataUrl(url)
  if (data === undefined || !takes(data.mediaType)) {
    const message = `\`${param}\` must be a base64 data URL of a type that models can read: ${example}`
    return problem('invalid_value', message, { param })
  }
  const { dataStart } = data
  if (!isBase64(url, dataStart)) {
    return problem('invalid_value', `The data of \`${param}\` is not base64, or there is none.`, { param })
  }
  const start = Buffer.from(url.slice(dataStart, dataStart + START_CHARACTERS), 'base64')
  return { form: formOf(start), dataBytes: url.length - dataStart }
}

const START_CHARACTERS = 16

/** The first bytes of picture files. Anything else that calls itself an image (such as SVG) may be read as text. */
const PICTURES: readonly ((start: string) => boolean)[] = [
  (start) => start.startsWith('\x89PNG'),
  (start) => start.startsWith('\xff\xd8\xff'),
  (start) => start.startsWith('GIF8'),
  (start) => start.startsWith('RIFF') && start.startsWith('WEBP', 8),
  // HEIC, HEIF and AVIF.
  (start) => start.startsWith('ftyp', 4),
]

/** A data URL, in which clients send images and files. */
interface DataUrl {
  /** In lower case, without parameters. */
  readonly mediaType: string
  /** The offset of the base64 data. */
  readonly dataStart: number
}

const HEAD = /^data:([a-z]+\/[a-z0-9][a-z0-9.+-]*)(?:;[a-z0-9-]+=[^;,]*)*;base64,/i
const HEAD_LENGTH_MAX = 512

/** Undefined for any other address, or another encoding. */
export function readDataUrl(url: string): DataUrl | undefined {
  const [head, mediaType] = HEAD.exec(url.slice(0, HEAD_LENGTH_MAX)) ?? []
  if (head === undefined || mediaType === undefined) return undefined
  return { mediaType: mediaType.toLowerCase(), dataStart: head.length }
}

export interface InlineData {
  readonly mediaType: string
  readonly base64: string
}

/** The data and its type, for lanes that take the two apart. Undefined for any other address. */
export function inlineData(url: string): InlineData | undefined {
  const head = readDataUrl(url)
  if (head === undefined) return undefined
  const { mediaType, dataStart } = head
  // A common mistake: the type does not exist.
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, base64: url.slice(dataStart) }
}

/** Four characters are three bytes. */
const PIECE_CHARACTERS = 65_536
const scratch = Buffer.allocUnsafe((PIECE_CHARACTERS / 4) * 3)

/**
 * Whether the rest of a text is base64, with or without padding, and not empty. Decoding stops at an invalid character, so the
 * number of decoded bytes shows it; that is several times as fast as a loop over the characters.
 */
export function isBase64(text: string, start: number): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const end = text.length - padding
  const length = end - start
  if (length < 2 || length % 4 === 1 || (end < text.length && (text.length - start) % 4 !== 0)) return false
  // The decoder also takes the URL alphabet; providers do not.
  if (text.includes('-', start) || text.includes('_', start)) return false
  let bytes = 0
  for (let at = start; at < end; at += PIECE_CHARACTERS) {
    bytes += scratch.write(text.slice(at, Math.min(at + PIECE_CHARACTERS, end)), 'base64')
  }
  return bytes === Math.floor((length * 3) / 4)
}

/** The cache mark of a part, a message or a tool: `cache_control` (Anthropic) or `prompt_cache_breakpoint` (OpenAI). */
export function markIn({ cache_control: control, prompt_cache_breakpoint: breakpoint }: Fields): {
  readonly cacheMark?: CacheMark
} {
  if (isObject(control))
    return {
      cacheMark: {
        field: 'cache_control',
        hasOwnTtl: !['5m', null, undefined].includes(control.ttl as string | null | undefined),
      },
    }
  return isObject(breakpoint) ? { cacheMark: { field: 'prompt_cache_breakpoint', hasOwnTtl: false } } : {}
}

/** A mark on a message applies to its last part, unless that has its own. */
export function withMarkOf(message: Fields, parts: ContentPart[]): ContentPart[] {
  const { cacheMark } = markIn(message)
  const last = parts.at(-1)
  if (cacheMark === undefined || last === undefined || last.cacheMark !== undefined) return parts
  return [...parts.slice(0, -1), { ...last, cacheMark }]
}

/** The names of the fields with which a client has marked its conversation. */
export function namesOfMarks(conversation: Conversation): string[] {
  const names = new Set<string>()
  for (const { field } of marksIn(conversation)) names.add(field)
  return [...names]
}

/** A longer TTL is lost even where marks are kept: an hour costs more than the five minutes that the price of `cache_write` covers. */
export const namesOfLostTtls = (conversation: Conversation): string[] =>
  marksIn(conversation).some(({ hasOwnTtl }) => hasOwnTtl) ? ['cache_control.ttl'] : []

function marksIn({ items, tools }: Conversation): CacheMark[] {
  const marks: CacheMark[] = []
  for (const { cacheMark } of tools) if (cacheMark) marks.push(cacheMark)
  for (const item of items) {
    if (!('content' in item)) continue
    for (const { cacheMark } of item.content) if (cacheMark) marks.push(cacheMark)
  }
  return marks
}
