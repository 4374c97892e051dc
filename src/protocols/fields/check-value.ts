import { type Fields, isObject } from '../../lib/types.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { InputForm, JsonMember, OtherInput } from '../../model/turn.ts'
import { isBase64, readDataUrl } from '../shared/data-url.ts'
import type { ValueCheck } from './read-fields.ts'

/** The type and range of one value. */
export function checkValue(param: string, value: unknown, check: ValueCheck): Problem | undefined {
  switch (check.kind) {
    case 'number':
    case 'integer':
      return checkNumber(param, value, check)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrongType(param, value, 'a boolean')
    case 'string':
      return typeof value === 'string' ? undefined : wrongType(param, value, 'a string')
    case 'object':
      return isObject(value) ? undefined : wrongType(param, value, 'an object')
    case 'array':
      return Array.isArray(value) ? undefined : wrongType(param, value, 'an array')
    case 'string-or-object':
      return typeof value === 'string' || isObject(value) ? undefined : wrongType(param, value, 'a string or an object')
    case 'string-or-strings':
      return checkStrings(param, value, check.most)
    case 'strings':
      return isStrings(value) ? undefined : wrongType(param, value, 'an array of strings')
    case 'one-of':
      return checkToken(param, value, new Set(check.words))
    case 'text-only':
      return checkTextOnly(param, value)
  }
}

function checkNumber(
  param: string,
  value: unknown,
  check: { kind: string; min: number; max: number },
): Problem | undefined {
  const integer = check.kind === 'integer'
  if (typeof value !== 'number') return wrongType(param, value, integer ? 'an integer' : 'a number')
  if (integer && Number.isFinite(value) && !Number.isInteger(value)) {
    return problem('invalid_type', `\`${param}\` is ${value}; it must be an integer.`, { param })
  }
  if (value >= check.min && value <= check.max) return undefined
  const range = check.max === check.min ? check.min : `between ${check.min} and ${check.max}`
  return problem('invalid_value', `\`${param}\` is ${writtenNumber(value)}; it must be ${range}.`, { param })
}

/** As far as it is known: JSON has numbers that cannot be read (`1e400`), and more digits than are kept of one. */
function writtenNumber(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'more than 1.7e308' : 'less than -1.7e308'
  if (Object.is(value, -0)) return '-0'
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? `about ${value}` : String(value)
}

function checkStrings(param: string, value: unknown, most: number): Problem | undefined {
  if (typeof value === 'string') return undefined
  if (!isStrings(value)) return wrongType(param, value, 'a string or an array of strings')
  if (value.length <= most) return undefined
  return problem('invalid_value', `\`${param}\` has ${value.length} entries; at most ${most} are possible.`, { param })
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string')

function checkTextOnly(param: string, value: unknown): Problem | undefined {
  if (!Array.isArray(value)) return wrongType(param, value, 'an array')
  if (value.every((entry) => entry === 'text')) return undefined
  return problem('unsupported_value', `This gateway answers in text: \`${param}\` may only be ["text"].`, { param })
}

export const wrongType = (param: string, value: unknown, expected: string): Problem =>
  problem('invalid_type', `\`${param}\` is ${nameOfType(value)}; it must be ${expected}.`, { param })

function nameOfType(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}

/** What is wrong with the first element that something is wrong with; each is named by its place. */
export function checkEach(
  param: string,
  list: readonly unknown[],
  check: (param: string, element: unknown) => Problem | undefined,
): Problem | undefined {
  for (const [index, element] of list.entries()) {
    const found = check(`${param}[${index}]`, element)
    if (found) return found
  }
  return undefined
}

/** What a client wrote goes into a message only so far. */
const SHOWN_MAX = 40

export const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_MAX))

/** Null means absent, everywhere. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null

export const missing = (param: string): Problem =>
  problem('missing_required_parameter', `\`${param}\` is missing.`, { param })

/** A text that must be there; it may be empty. */
export function checkText(param: string, value: unknown): Problem | undefined {
  if (typeof value === 'string') return undefined
  return isAbsent(value) ? missing(param) : wrongType(param, value, 'a string')
}

/** A text that must be there and say something. */
export function checkName(param: string, value: unknown): Problem | undefined {
  if (value === '') return problem('invalid_value', `\`${param}\` is empty.`, { param })
  return checkText(param, value)
}

export const checkMaybeText = (param: string, value: unknown): Problem | undefined =>
  isAbsent(value) ? undefined : checkText(param, value)

export function checkToken(param: string, value: unknown, words: ReadonlySet<string>): Problem | undefined {
  const found = checkText(param, value)
  if (found || words.has(value as string)) return found
  const message = `\`${param}\` is ${shown(value as string)}; it must be one of ${[...words].join(', ')}.`
  return problem('invalid_value', message, { param })
}

/** A field name goes into a message; what a client may put there is bounded. */
const NAME_SHOWN_MAX = 64

/**
 * Names first, on the bytes: every field at most once, the control fields exactly as they are spelled. JSON readers
 * disagree about duplicates, escapes and letter case, and the provider's reader is not ours.
 */
export function checkNames(members: readonly JsonMember[], controls: ReadonlySet<string>): Problem | undefined {
  const seen = new Set<string>()
  for (const { name, escaped } of members) {
    const control = controlFieldMeant(name, controls)
    if (control !== undefined && (escaped || name !== control)) return misspelled(name, control, escaped)
    if (seen.has(name)) return twice(name)
    seen.add(name)
  }
  return undefined
}

function controlFieldMeant(name: string, controls: ReadonlySet<string>): string | undefined {
  if (controls.has(name)) return name
  const lower = name.toLowerCase()
  return controls.has(lower) ? lower : undefined
}

const misspelled = (name: string, control: string, escaped: boolean): Problem =>
  escaped
    ? problem('unsupported_parameter', `The name of \`${control}\` is written with escapes. Write it plainly, once.`, {
        param: control,
      })
    : problem(
        'unsupported_parameter',
        `Unknown field \`${name}\`. Did you mean \`${control}\`? Field names are in lower case.`,
        { param: name },
      )

const twice = (name: string): Problem =>
  problem('duplicate_field', `The field \`${name.slice(0, NAME_SHOWN_MAX)}\` appears twice. Send it once.`, {
    param: name.slice(0, NAME_SHOWN_MAX),
  })

/** A part that is not text: what a model's `inputs` calls it, and what it comes as. */
export interface OtherPart {
  readonly kind: OtherInput['kind']
  readonly read: (param: string, part: Fields) => PartSource | Problem
}

/** Notes it among `others`, for the model to decide; undefined where only words may stand. */
export function checkOtherPart(
  { kind, read }: OtherPart,
  param: string,
  part: Fields,
  others: OtherInput[] | undefined,
): Problem | undefined {
  if (others === undefined) return wordsOnly(param)
  const source = read(param, part)
  if ('code' in source) return source
  others.push({ kind, param, ...source })
  return undefined
}

/** What an image or a file comes as. */
export type PartSource = Pick<OtherInput, 'form' | 'dataBytes'>

/** An image by its address, or its data in the place of one. Nothing is ever fetched: an address is the provider's to follow. */
export function checkImageUrl(param: string, url: string): PartSource | Problem {
  if (isWebAddress(url)) return AN_ADDRESS
  if (isData(url)) return checkData(param, url, IMAGE_DATA)
  const message = `\`${param}\` is neither an http or https address (of at most ${ADDRESS_LENGTH_MAX} characters) nor a data URL such as data:image/png;base64,… with the image in it.`
  return problem('invalid_value', message, { param })
}

export const checkFileData = (param: string, data: string): PartSource | Problem => checkData(param, data, FILE_DATA)

export function checkFileUrl(param: string, url: string): PartSource | Problem {
  if (isWebAddress(url)) return AN_ADDRESS
  const message = `\`${param}\` is no http or https address of at most ${ADDRESS_LENGTH_MAX} characters. Send the file itself as \`file_data\`.`
  return problem('invalid_value', message, { param })
}

/** What names a file somewhere else: this gateway has none, and one provider knows nothing of the files of another. */
export function noFilesHere(param: string, instead: string): Problem {
  const message = `\`${param}\` names a file, and this gateway keeps none. Send it as ${instead}.`
  return problem('unsupported_content', message, { param })
}

/** What stands where its lane could not show it to the model. */
function wordsOnly(param: string): Problem {
  const message = `\`${param}\` is no text: images and files may stand in messages of the user and in results of tools only.`
  return problem('unsupported_content', message, { param })
}

export const notTaken = (param: string, type: string): Problem =>
  problem('unsupported_content', `\`${param}\` is a part of type ${shown(type)}; this gateway takes text.`, { param })

const AN_ADDRESS: PartSource = { form: 'address', dataBytes: 0 }

/** Longer than any that is signed, and short enough to be looked at. */
const ADDRESS_LENGTH_MAX = 16_384

const isWebAddress = (url: string): boolean =>
  url.length <= ADDRESS_LENGTH_MAX && /^https?:\/\//i.test(url) && URL.canParse(url)
const isData = (url: string): boolean => /^data:/i.test(url)

interface DataRule {
  readonly takes: (mediaType: string) => boolean
  readonly example: string
  readonly formOf: (start: Buffer) => InputForm
}

const IMAGE_DATA: DataRule = {
  takes: (mediaType) => mediaType.startsWith('image/'),
  example: 'data:image/png;base64,…',
  formOf: (start) => (isPicture(start) ? 'picture' : 'text'),
}

const FILE_DATA: DataRule = {
  takes: (mediaType) => mediaType === 'application/pdf' || mediaType.startsWith('text/'),
  example: 'data:application/pdf;base64,… or data:text/plain;base64,…',
  formOf: (start) => (start.toString('latin1').startsWith('%PDF-') ? 'document' : 'text'),
}

function checkData(param: string, url: string, { takes, example, formOf }: DataRule): PartSource | Problem {
  const data = readDataUrl(url)
  if (data === undefined || !takes(data.mediaType)) {
    const message = `\`${param}\` has to be a data URL in base64 of a type that models read: ${example}`
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

/** How files of pictures begin. Whatever else calls itself an image (SVG, for one) may be text to whoever reads it. */
const PICTURES: readonly ((start: string) => boolean)[] = [
  (start) => start.startsWith('\x89PNG'),
  (start) => start.startsWith('\xff\xd8\xff'),
  (start) => start.startsWith('GIF8'),
  (start) => start.startsWith('RIFF') && start.startsWith('WEBP', 8),
  // HEIC, HEIF and AVIF.
  (start) => start.startsWith('ftyp', 4),
]

const isPicture = (start: Buffer): boolean => PICTURES.some((begins) => begins(start.toString('latin1')))
