import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkOtherPart, type OtherPart } from '../fields/check-other-part.ts'
import {
  checkFileData,
  checkFileUrl,
  checkImageUrl,
  noFilesHere,
  notTaken,
  type PartSource,
} from '../fields/check-source.ts'
import { checkEach, checkMaybeText, checkText, isAbsent, missing, wrongType } from '../fields/check-value.ts'

/** Text by whatever name: clients send an assistant's kind of part in a user's message, and the other way round. */
export const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
])

/**
 * What an item says: a text, or parts of which those that are not text are noted, for the model to decide. Undefined where
 * only words may stand.
 */
export function checkContent(param: string, content: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, others))
}

function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string')
    return isAbsent(type) ? missing(`${param}.type`) : wrongType(`${param}.type`, type, 'a string')
  if (TEXT_PARTS.has(type)) return checkText(`${param}.text`, part.text)
  if (type === 'refusal') return checkText(`${param}.refusal`, part.refusal)
  const other = OTHER_PARTS.get(type)
  return other === undefined ? notTaken(param, type) : checkOtherPart(other, param, part, others)
}

const OTHER_PARTS: ReadonlyMap<string, OtherPart> = new Map<string, OtherPart>([
  ['input_image', { kind: 'image', read: readImage }],
  ['input_file', { kind: 'file', read: readFile }],
  ['input_audio', { kind: 'audio', read: readAudio }],
])

function readImage(param: string, { image_url: url, file_id: id, detail }: Fields): PartSource | Problem {
  if (!isAbsent(id)) return noFilesHere(`${param}.file_id`, '`image_url`')
  const found = checkText(`${param}.image_url`, url) ?? checkMaybeText(`${param}.detail`, detail)
  return found ?? checkImageUrl(`${param}.image_url`, url as string)
}

function readFile(param: string, part: Fields): PartSource | Problem {
  const { file_id: id, file_data: data, file_url: url } = part
  if (!isAbsent(id)) return noFilesHere(`${param}.file_id`, '`file_data` or `file_url`')
  for (const name of ['file_url', 'filename']) {
    const found = checkMaybeText(`${param}.${name}`, part[name])
    if (found) return found
  }
  if (isAbsent(url)) {
    return checkText(`${param}.file_data`, data) ?? checkFileData(`${param}.file_data`, data as string)
  }
  if (isAbsent(data)) return checkFileUrl(`${param}.file_url`, url as string)
  // Which of the two a provider would read nobody knows, and one bound is for one file.
  const message = `\`${param}\` has both \`file_data\` and \`file_url\`. Send one of them.`
  return problem('invalid_value', message, { param })
}

/** No model takes it: what is in it is judged for its message only. */
function readAudio(param: string, { input_audio: audio }: Fields): PartSource | Problem {
  if (!isObject(audio)) return wrongType(`${param}.input_audio`, audio, 'an object')
  const found =
    checkText(`${param}.input_audio.data`, audio.data) ?? checkText(`${param}.input_audio.format`, audio.format)
  return found ?? { form: 'text', dataBytes: 0 }
}
