import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkFileData, checkImageUrl, noFilesHere, type PartSource } from '../fields/check-source.ts'
import { wrongType } from '../fields/check-value.ts'

type Read = (param: string, part: Fields) => PartSource | Problem

/** Parts that are not text: what a model's `inputs` calls them, and what they come as. */
const OTHER_PARTS: ReadonlyMap<string, { readonly kind: OtherInput['kind']; readonly read: Read }> = new Map([
  ['image_url', { kind: 'image', read: readImage }],
  ['file', { kind: 'file', read: readFile }],
  // No model takes it: whatever is in it is refused.
  ['input_audio', { kind: 'audio', read: () => ({ form: 'text', dataBytes: 0 }) }],
])

export const isOtherPart = (type: string): boolean => OTHER_PARTS.has(type)

export function readOtherPart(param: string, type: string, part: Fields): OtherInput | Problem {
  const { kind, read } = OTHER_PARTS.get(type)!
  const source = read(param, part)
  return 'code' in source ? source : { kind, param, ...source }
}

/** Some clients leave out the object around the address. */
function readImage(param: string, { image_url: image }: Fields): PartSource | Problem {
  const { url, detail }: Fields = isObject(image) ? image : { url: image }
  const place = isObject(image) ? `${param}.image_url.url` : `${param}.image_url`
  if (detail !== undefined && detail !== null && typeof detail !== 'string') {
    return wrongType(`${param}.image_url.detail`, detail, 'a string')
  }
  return typeof url === 'string' ? checkImageUrl(place, url) : noText(place, url)
}

function readFile(param: string, { file }: Fields): PartSource | Problem {
  if (!isObject(file)) return wrongType(`${param}.file`, file, 'an object')
  const { file_id: id, file_data: data, filename } = file
  if (id !== undefined && id !== null) return noFilesHere(`${param}.file.file_id`, '`file_data`')
  if (filename !== undefined && filename !== null && typeof filename !== 'string') {
    return wrongType(`${param}.file.filename`, filename, 'a string')
  }
  const place = `${param}.file.file_data`
  return typeof data === 'string' ? checkFileData(place, data) : noText(place, data)
}

function noText(param: string, value: unknown): Problem {
  if (value !== undefined && value !== null) return wrongType(param, value, 'a string')
  return problem('missing_required_parameter', `\`${param}\` is missing.`, { param })
}
