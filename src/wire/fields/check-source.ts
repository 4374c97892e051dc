import { type Problem, problem } from '../../model/problem.ts'
import type { InputForm, OtherInput } from '../../model/turn.ts'
import { isBase64, readDataUrl } from '../read-data-url.ts'
import { shown } from './check-value.ts'

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
export function wordsOnly(param: string): Problem {
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
