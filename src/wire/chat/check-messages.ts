import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkOtherPart, type OtherPart } from '../fields/check-other-part.ts'
import { checkFileData, checkImageUrl, noFilesHere, notTaken, type PartSource } from '../fields/check-source.ts'
import { checkEach, checkMaybeText, checkText, checkWord, isAbsent, missing, wrongType } from '../fields/check-value.ts'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** Who may show what is not text. */
const SHOWS = new Set(['user', 'tool', 'function'])
const TEXT_PARTS = new Set(['text', 'refusal'])

/** Messages as far as we must understand them: who speaks. What in them is not text is noted among `others`. */
export function checkMessages(messages: unknown, others: OtherInput[]): Problem | undefined {
  if (isAbsent(messages)) {
    return problem('missing_required_parameter', 'The field `messages` is missing. Send at least one message.', {
      param: 'messages',
    })
  }
  if (!Array.isArray(messages)) return wrongType('messages', messages, 'an array')
  if (messages.length === 0) {
    return problem('invalid_value', '`messages` is empty. Send at least one message.', { param: 'messages' })
  }
  return checkEach('messages', messages, (param, message) => checkMessage(param, message, others))
}

function checkMessage(param: string, message: unknown, others: OtherInput[]): Problem | undefined {
  if (!isObject(message)) return wrongType(param, message, 'an object')
  const { role } = message
  const place = `${param}.role`
  if (typeof role !== 'string') return role === undefined ? missing(place) : wrongType(place, role, 'a string')
  return checkWord(place, role, ROLES) ?? checkContent(`${param}.content`, role, message, others)
}

function checkContent(
  param: string,
  role: string,
  message: Record<string, unknown>,
  others: OtherInput[],
): Problem | undefined {
  const { content } = message
  if (typeof content === 'string') return undefined
  if (isAbsent(content)) {
    // An assistant that only called tools has said nothing, and clients send that as null or not at all.
    if (role === 'assistant' || role === 'function') return undefined
    return content === null ? wrongType(param, content, 'a string or an array of parts') : missing(param)
  }
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, SHOWS.has(role) ? others : undefined))
}

/** `others`: undefined where only words may stand. */
function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  const other = OTHER_PARTS.get(type)
  if (other !== undefined) return checkOtherPart(other, param, part, others)
  if (!TEXT_PARTS.has(type)) return notTaken(param, type)
  const text = type === 'refusal' ? part.refusal : part.text
  return typeof text === 'string' ? undefined : wrongType(`${param}.${type}`, text, 'a string')
}

const OTHER_PARTS: ReadonlyMap<string, OtherPart> = new Map<string, OtherPart>([
  ['image_url', { kind: 'image', read: readImage }],
  ['file', { kind: 'file', read: readFile }],
  // No model takes it: whatever is in it is refused.
  ['input_audio', { kind: 'audio', read: () => ({ form: 'text', dataBytes: 0 }) }],
])

/** Some clients leave out the object around the address. */
function readImage(param: string, { image_url: image }: Fields): PartSource | Problem {
  const { url, detail }: Fields = isObject(image) ? image : { url: image }
  const place = isObject(image) ? `${param}.image_url.url` : `${param}.image_url`
  const found = checkMaybeText(`${param}.image_url.detail`, detail) ?? checkText(place, url)
  return found ?? checkImageUrl(place, url as string)
}

function readFile(param: string, { file }: Fields): PartSource | Problem {
  if (!isObject(file)) return wrongType(`${param}.file`, file, 'an object')
  const { file_id: id, file_data: data, filename } = file
  if (!isAbsent(id)) return noFilesHere(`${param}.file.file_id`, '`file_data`')
  const place = `${param}.file.file_data`
  const found = checkMaybeText(`${param}.file.filename`, filename) ?? checkText(place, data)
  return found ?? checkFileData(place, data as string)
}
